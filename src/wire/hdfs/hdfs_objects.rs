//! Class names of what is sent with them.

use crate::wire::object::{ArrayElement, Object, ObjectError, decode_instance, encode_class};
use crate::wire::{Decode, Encode, Reader, Writer};

use super::{
    Block, ContentSummary, DatanodeInfo, DirectoryListing, FileStatus, FsPermission, LocatedBlock, LocatedBlocks,
};

macro_rules! hdfs_objects {
    ($($type:ty = $class:literal;)*) => {$(
        impl Object for $type {
            const CLASS: &'static str = $class;

            fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
                decode_instance(reader, Self::CLASS)?;
                Ok(Some(<$type as Decode>::decode(reader)?))
            }

            fn encode_object(&self, writer: &mut Writer<'_>) {
                encode_class(Self::CLASS, writer);
                Encode::encode(self, writer);
            }
        }
    )*};
}

hdfs_objects! {
    Block = "org.apache.hadoop.hdfs.protocol.Block";
    LocatedBlock = "org.apache.hadoop.hdfs.protocol.LocatedBlock";
    LocatedBlocks = "org.apache.hadoop.hdfs.protocol.LocatedBlocks";
    DatanodeInfo = "org.apache.hadoop.hdfs.protocol.DatanodeInfo";
    FileStatus = "org.apache.hadoop.hdfs.protocol.HdfsFileStatus";
    DirectoryListing = "org.apache.hadoop.hdfs.protocol.DirectoryListing";
    FsPermission = "org.apache.hadoop.fs.permission.FsPermission";
    ContentSummary = "org.apache.hadoop.fs.ContentSummary";
}

impl ArrayElement for LocatedBlock {
    const ARRAY_CLASS: &'static str = "[Lorg.apache.hadoop.hdfs.protocol.LocatedBlock;";
}

impl ArrayElement for DatanodeInfo {
    const ARRAY_CLASS: &'static str = "[Lorg.apache.hadoop.hdfs.protocol.DatanodeInfo;";
}
