use super::*;

#[test]
fn a_flag_tells_length_and_exchange() {
    assert_eq!(length_in(flag(7, 1234), 7), Some(1234));
    assert_eq!(length_in(flag(7, 1234), 9), None);
    assert_eq!(length_in(flag(1, 0), 1), Some(0));
    assert_eq!(length_in(0, 1), None);
}

#[test]
fn a_flag_stored_in_part_is_not_taken() {
    for (before, sequence) in [(1_u64, 2_u64), (254, 256), (65_528, 65_536), (0, 1)] {
        let [old, new] = [flag(before, 45), flag(sequence, 70_100)].map(u64::to_le_bytes);
        for stored in 1..8 {
            let upwards = [&new[..stored], &old[stored..]].concat();
            let downwards = [&old[..stored], &new[stored..]].concat();
            for torn in [upwards, downwards] {
                let torn = u64::from_le_bytes(torn.try_into().unwrap());
                let length = length_in(torn, sequence);
                assert!(length.is_none_or(|length| length == 70_100), "{torn:016x} tells {length:?}");
            }
        }
    }
}

#[test]
fn credits_are_spared_only_with_two_buffers_and_an_answer() {
    assert!(!needs_credit(2, Answer::Message));
    assert!(needs_credit(2, Answer::Nothing));
    assert!(needs_credit(1, Answer::Message));
    assert!(needs_credit(1, Answer::Nothing));
}

#[test]
fn a_buffer_is_free_until_its_second_use() {
    assert_eq!([1, 2, 3].map(|sequence| awaited_credit(sequence, 1)), [None, Some(1), Some(2)]);
    assert_eq!([1, 2, 3].map(|sequence| awaited_credit(sequence, 2)), [None, None, Some(1)]);
    assert_eq!(buffer_of(1, 2), buffer_of(3, 2));
    assert_ne!(buffer_of(1, 2), buffer_of(2, 2));
}

/// On the machine at hand, what `loom_model` shows for all of them.
#[test]
fn messages_in_one_buffer_arrive_one_by_one() {
    const EXCHANGES: u64 = if cfg!(miri) { 50 } else { 2000 };
    let [flagged, payload, released] = [0; 3].map(AtomicU64::new);
    let wait_until = |word: &AtomicU64, value| {
        while word.observe() != value {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for sequence in 1..=EXCHANGES {
                awaited_credit(sequence, 1).into_iter().for_each(|credit| wait_until(&released, credit));
                payload.store(sequence, Ordering::Relaxed);
                flagged.publish(flag(sequence, 1));
            }
        });
        for sequence in 1..=EXCHANGES {
            wait_until(&flagged, flag(sequence, 1));
            assert_eq!(payload.load(Ordering::Relaxed), sequence);
            released.publish(sequence);
        }
    });
}
