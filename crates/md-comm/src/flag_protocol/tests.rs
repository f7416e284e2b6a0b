use super::*;

#[test]
fn a_flag_tells_length_and_exchange() {
    assert_eq!(length_in(flag(7, 1234), 7), Some(1234));
    assert_eq!(length_in(flag(7, 1234), 9), None);
    assert_eq!(length_in(flag(1, 0), 1), Some(0));
    assert_eq!(length_in(0, 1), None);
}

#[test]
fn credits_are_spared_only_with_two_slots_and_an_answer() {
    assert!(!needs_credit(2, Answer::Message));
    assert!(needs_credit(2, Answer::Nothing));
    assert!(needs_credit(1, Answer::Message));
    assert!(needs_credit(1, Answer::Nothing));
}

#[test]
fn a_slot_is_free_until_its_second_use() {
    assert_eq!([1, 2, 3].map(|sequence| awaited_credit(sequence, 1)), [None, Some(1), Some(2)]);
    assert_eq!([1, 2, 3].map(|sequence| awaited_credit(sequence, 2)), [None, None, Some(1)]);
    assert_eq!(slot_of(1, 2), slot_of(3, 2));
    assert_ne!(slot_of(1, 2), slot_of(2, 2));
}

/// On the machine at hand, what `loom_model` shows for all of them.
#[test]
fn messages_in_one_slot_arrive_one_by_one() {
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
