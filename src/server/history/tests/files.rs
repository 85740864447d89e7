//! Files of history on HDFS.

use crate::hdfs::tests::cluster::{BLOCK, Cluster, PACKET, bytes};

use super::*;

#[test]
fn the_size_of_blocks_is_that_of_the_create_call() {
    let cluster = Cluster::start(&[None, None, None]);
    let files = HistoryFiles::done(FileSystems::new("h1", Ok(Cluster::options())));
    let folder = FileUri::parse(&format!("hdfs://127.0.0.1:{}/done", cluster.port)).unwrap();
    files.make_folder(&folder).unwrap();
    let content = bytes(3 * PACKET);
    for (name, block_bytes) in [("history", Some(PACKET as u64)), ("conf", None)] {
        files.write(&folder, name, block_bytes, &mut |file| file.write_all(&content)).unwrap();
    }
    let of = |name: &str| {
        let file = cluster.state.lock().files[&format!("/done/{name}")].clone();
        (file.block_bytes as usize, file.blocks.len(), cluster.content(&format!("/done/{name}")))
    };
    assert_eq!(of("history"), (PACKET, 3, Some(content.clone())));
    assert_eq!(of("conf"), (BLOCK, 1, Some(content.clone())), "without one, that of the configuration");
    cluster.check();
}
