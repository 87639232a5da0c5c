# What zsh offers for a command line, each word in <offer>. Arguments: the folder of _shaper, the command line.
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1= fpath=($1 \$fpath); stty columns 250 rows 500 -echo"
zpty -w inner 'autoload -Uz compinit; compinit -u -D
compadd () {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return $?
    fi
    typeset -a offers
    builtin compadd -A offers "$@"
    (( $#offers )) && print -rl -- "<offer>"${^offers}"</offer>"
    builtin compadd "$@"
}
bindkey "^I" complete-word; bindkey "^X" kill-buffer; print READY'
while zpty -r inner line; do [[ $line == *READY* ]] && break; done
zpty -w -n inner "$2"$'\t\x18'
zpty -w inner 'print "OV""ER"'
while zpty -r inner line; do
    print -r -- "$line"
    [[ $line == *OVER* ]] && break
done
zpty -d inner
