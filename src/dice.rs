//! Random bits as a function of what they are drawn for: no generator is shared. Floor 1: words.

/// One step of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit. The same
/// in every version.
pub fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(STEP);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// 2^64 divided by the golden ratio: the step of splitmix64. States this far apart give a sequence.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let states = [0, STEP, STEP.wrapping_mul(2)];
        let published = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        assert_eq!(states.map(mix), published);
    }
}
