//! Class names of what is sent with them.

use crate::wire::object::{
    ArrayElement, Object, ObjectError, array_elements, decode_instance, encode_class, plain, writables,
};
use crate::wire::{Encode, Reader, WireError, Writer};

use super::{
    Block, ContentSummary, DatanodeInfo, DirectoryListing, FileStatus, FsPermission, LocatedBlock, LocatedBlocks,
};

writables! {
    Block = "org.apache.hadoop.hdfs.protocol.Block", plain;
    LocatedBlock = "org.apache.hadoop.hdfs.protocol.LocatedBlock", plain;
    LocatedBlocks = "org.apache.hadoop.hdfs.protocol.LocatedBlocks", plain;
    DatanodeInfo = "org.apache.hadoop.hdfs.protocol.DatanodeInfo", plain;
    FileStatus = "org.apache.hadoop.hdfs.protocol.HdfsFileStatus", plain;
    DirectoryListing = "org.apache.hadoop.hdfs.protocol.DirectoryListing", plain;
    FsPermission = "org.apache.hadoop.fs.permission.FsPermission", plain;
    ContentSummary = "org.apache.hadoop.fs.ContentSummary", plain;
}

array_elements! {
    LocatedBlock = "[Lorg.apache.hadoop.hdfs.protocol.LocatedBlock;";
    DatanodeInfo = "[Lorg.apache.hadoop.hdfs.protocol.DatanodeInfo;";
}
