//! Memory in pages of megabytes. A CPU looks up every page that it has not used recently in a table
//! (in a virtual machine in two); a kernel that walks through many long arrays at once does so all
//! the time if pages have 4 KiB. Linux gives large pages to a program that asks before it writes
//! there (`/sys/kernel/mm/transparent_hugepage/enabled`: `madvise`, which most distributions set).
#![expect(unsafe_code, reason = "advice to the system has no safe form; the rule is at the block")]

/// Smallest memory for which the system is asked. In less memory hardly any page would be large.
#[cfg(target_os = "linux")]
const LEAST_BYTES: usize = 4 << 20;
/// A multiple of the page size of any system.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 64 << 10;

/// Asks the system for large pages for memory that has not been written to. Does nothing for little
/// memory, or where there are no such pages.
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    if size_of_val(memory) >= LEAST_BYTES {
        let start = memory.as_mut_ptr().cast::<u8>();
        let before = start.addr().next_multiple_of(PAGE_BYTES) - start.addr();
        let bytes = (size_of_val(memory) - before) / PAGE_BYTES * PAGE_BYTES;
        // SAFETY: whole pages of memory that is borrowed; the advice does not change their content.
        // Refused advice is harmless.
        // Test: large pages.
        unsafe { libc::madvise(start.wrapping_add(before).cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::AlignedBuffer;

    /// Returns an entry of `/proc/self/smaps` for the mapping that contains an address, or `None`
    /// where there are no large pages.
    fn told_of(address: usize, key: &str) -> Option<String> {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return None;
        }
        let mut is_it = false;
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap_or_default().lines() {
            let bounds = line.split(' ').next().and_then(|range| range.split_once('-'));
            let bounds = bounds.map(|(from, to)| [from, to].map(|it| usize::from_str_radix(it, 16)));
            if let Some([Ok(from), Ok(to)]) = bounds {
                is_it = (from..to).contains(&address);
            }
            if is_it && let Some(value) = line.strip_prefix(key) {
                return Some(value.to_owned());
            }
        }
        panic!("no mapping at {address:x}");
    }

    fn expect_advice(address: usize, is_advised: bool) {
        let Some(flags) = told_of(address, "VmFlags:") else { return };
        assert_eq!(flags.split_whitespace().any(|flag| flag == "hg"), is_advised, "{flags}");
    }

    #[test]
    fn much_memory_is_advised_and_keeps_what_it_holds() {
        for (bytes, is_advised) in [(2 << 20, false), (64 << 20, true)] {
            let mut memory: Vec<u8> = Vec::with_capacity(bytes);
            prefer_large_pages(memory.spare_capacity_mut());
            memory.resize(bytes, 7);
            expect_advice(memory.as_ptr().addr() + bytes / 2, is_advised);
            prefer_large_pages(memory.spare_capacity_mut());
            assert!(memory.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn buffers_beyond_those_that_share_pages_are_advised() {
        let buffer = AlignedBuffer::new(3 << 19).unwrap();
        expect_advice(buffer.bytes().as_ptr().addr() + (3 << 18), true);
    }

    /// The advice has to precede all writing. A mapping may also contain what other tests have
    /// written: less than half of this buffer.
    #[test]
    fn a_long_buffer_has_no_pages_yet() {
        let bytes = 256 << 20;
        let buffer = AlignedBuffer::new(bytes).unwrap();
        let middle = buffer.bytes().as_ptr().addr() + bytes / 2;
        expect_advice(middle, true);
        let Some(resident) = told_of(middle, "Rss:") else { return };
        let resident_kb: usize = resident.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(resident_kb << 10 < bytes / 2, "{resident}");
    }
}
