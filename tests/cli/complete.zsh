# What zsh offers for command lines: for each a line <line>, and then each word in <offer>. Arguments: the
# folder of _shaper, the command lines.
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
while zpty -r inner said; do [[ $said == *READY* ]] && break; done
for line in "${@:2}"; do
    print -r -- "<line>"
    zpty -w -n inner "$line"$'\t\x18'
    zpty -w inner 'print "OV""ER"'
    while zpty -r inner said; do
        print -r -- "$said"
        [[ $said == *OVER* ]] && break
    done
done
zpty -d inner
