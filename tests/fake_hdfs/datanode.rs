//! The DataNodes of the tests. The first one of a pipeline writes the replicas of all of them.

use std::io::{Read, Write};
use std::net::TcpStream;

use jobtracker::wire::hdfs::{
    Block, Checksums, DataFrame, DataRequest, DataStatus, HEARTBEAT_SEQUENCE, HdfsAnswer, HdfsCall, HdfsOutcome,
    HdfsProtocol, HdfsResponse, LocatedBlock, PipelineAck, ReadAnswer, ReadRequest, SetupAnswer, WriteRequest,
    decode_data_request, decode_hdfs_call, encode_ack, encode_end, encode_hdfs_response, encode_packet,
    encode_read_answer, encode_setup_answer, first_bad_chunk, split_data_frame,
};
use jobtracker::wire::protocol::RemoteException;

use super::cluster::{Fault, Replica, Shared, no_token};
use super::namenode::{read_frame, read_opening};

/// Reads on until `decode` gives something; `None` at the end of the stream.
fn receive<T>(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    mut decode: impl FnMut(&[u8]) -> Option<(T, usize)>,
) -> Option<T> {
    loop {
        if let Some((value, used)) = decode(buffer) {
            buffer.drain(..used);
            return Some(value);
        }
        let mut more = [0; 4096];
        match stream.read(&mut more) {
            Ok(count) if count > 0 => buffer.extend_from_slice(&more[..count]),
            _ => return None,
        }
    }
}

/// Says nothing until the client has gone.
fn stay_silent(stream: &mut TcpStream) {
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

/// Serves a connection to the data port of a DataNode.
pub fn serve_data(mut stream: TcpStream, shared: &Shared, index: usize) {
    let fault = shared.lock().nodes[index].fault;
    if fault == Some(Fault::Closes) {
        return;
    }
    let mut buffer = Vec::new();
    let request = receive(&mut stream, &mut buffer, |bytes| decode_data_request(bytes).unwrap());
    match request {
        Some(DataRequest::Read(read)) => serve_read(&mut stream, shared, index, &read),
        Some(DataRequest::Write(write)) => serve_write(&mut stream, &mut buffer, shared, index, &write),
        None => {}
    }
}

fn serve_read(stream: &mut TcpStream, shared: &Shared, index: usize, read: &ReadRequest) {
    let fault = shared.lock().nodes[index].fault;
    let status = match fault {
        Some(Fault::Refuses) => Some(DataStatus::Error),
        Some(Fault::RefusesToken) => {
            shared.lock().nodes[index].fault = None;
            Some(DataStatus::ErrorAccessToken)
        }
        _ => None,
    };
    let mut sent = Vec::new();
    match status.map_or_else(|| read_answer(shared, index, read, fault), Err) {
        Ok(bytes) => sent = bytes,
        Err(status) => encode_read_answer(&mut sent, &ReadAnswer::Refused(status)),
    }
    match fault {
        Some(Fault::CutsAfter(count) | Fault::DiesAfter(count)) => sent.truncate(count),
        Some(Fault::SilentAfter(count)) => {
            sent.truncate(count);
            let _ = stream.write_all(&sent);
            return stay_silent(stream);
        }
        Some(Fault::Flips(bit)) => {
            if let Some(byte) = sent.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        _ => {}
    }
    let mut last = [0; 2];
    if stream.write_all(&sent).is_ok()
        && !matches!(fault, Some(Fault::CutsAfter(_)))
        && stream.read_exact(&mut last).is_ok()
    {
        shared.lock().acknowledged_reads += 1;
        shared.notify();
    }
}

/// Answer and packets as a stock DataNode sends them: whole chunks, a partial one in a packet of its own.
fn read_answer(shared: &Shared, index: usize, read: &ReadRequest, fault: Option<Fault>) -> Result<Vec<u8>, DataStatus> {
    let (mut replica, chunk, packet) = {
        let state = shared.lock();
        let replica = state.nodes[index].replicas.get(&read.block_id).cloned().ok_or(DataStatus::Error)?;
        (replica, state.chunk, state.packet)
    };
    let (offset, length) = (read.offset_bytes as usize, read.length_bytes as usize);
    if replica.generation != read.generation || offset + length > replica.bytes.len() {
        return Err(DataStatus::Error);
    }
    let first = offset / chunk * chunk;
    let end = ((offset + length).div_ceil(chunk) * chunk).min(replica.bytes.len());
    let checksums = Checksums::crc32(chunk);
    let mut sent = Vec::new();
    encode_read_answer(&mut sent, &ReadAnswer::Ready { checksums, first_offset_bytes: first as i64 });
    let (mut at, mut sequence) = (first, 0);
    while at < end {
        let whole = (end - at) / chunk * chunk;
        let count = if whole == 0 { end - at } else { whole.min(packet) };
        let start = sent.len();
        let said = sequence + i64::from(fault == Some(Fault::MisnumbersPacket(sequence as usize)));
        encode_packet(&mut sent, at as i64, said, at + count == end, &replica.bytes[at..at + count], checksums);
        if let Some(Fault::Rots(bit)) = fault
            && (at * 8..(at + count) * 8).contains(&bit)
        {
            let data = sent.len() - count;
            assert!(data > start);
            sent[data + bit / 8 - at] ^= 1 << (bit % 8);
        }
        at += count;
        sequence += 1;
    }
    replica.bytes.clear();
    encode_end(&mut sent);
    Ok(sent)
}

/// What a packet of a writer meets.
enum PacketOutcome {
    Acknowledged(PipelineAck),
    Cut,
    Silent,
}

fn serve_write(stream: &mut TcpStream, buffer: &mut Vec<u8>, shared: &Shared, index: usize, write: &WriteRequest) {
    let Some(pipeline) = pipeline_of(shared, index, write) else { return };
    let bad = {
        let state = shared.lock();
        let cannot = [Some(Fault::NoListener), Some(Fault::Closes), Some(Fault::Refuses)];
        pipeline
            .iter()
            .find(|at| cannot.contains(&state.nodes[**at].fault))
            .map(|at| state.nodes[*at].info.name.clone())
    };
    let mut answer = Vec::new();
    let status = if bad.is_some() { DataStatus::Error } else { DataStatus::Success };
    let is_refused = bad.is_some();
    let first_bad_node = bad.unwrap_or_default().into();
    encode_setup_answer(&mut answer, &SetupAnswer { status, first_bad_node });
    if stream.write_all(&answer).is_err() || is_refused {
        return;
    }
    for number in 0.. {
        let packet = receive(stream, buffer, |bytes| {
            let (frame, used) = split_data_frame(bytes, write.checksums).unwrap()?;
            Some(match frame {
                DataFrame::Packet(packet) => {
                    if first_bad_chunk(&packet, write.checksums).is_some() {
                        shared.lock().violations.push(format!("a wrong checksum in packet {number}"));
                    }
                    let head = (packet.offset_bytes as usize, packet.sequence, packet.is_last);
                    (Some((head, packet.data.to_vec())), used)
                }
                DataFrame::End => (None, used),
            })
        });
        let Some(Some(((offset, sequence, is_last), data))) = packet else { return };
        if sequence == HEARTBEAT_SEQUENCE {
            shared.lock().heartbeats += 1;
            shared.notify();
            let mut bytes = Vec::new();
            encode_ack(&mut bytes, &PipelineAck { sequence, statuses: Vec::new() });
            let _ = stream.write_all(&bytes);
            continue;
        }
        match take_packet(shared, &pipeline, write, sequence, offset, is_last, &data) {
            PacketOutcome::Cut => return,
            PacketOutcome::Silent => return stay_silent(stream),
            PacketOutcome::Acknowledged(ack) => {
                let mut bytes = Vec::new();
                encode_ack(&mut bytes, &ack);
                // A pipeline that has failed takes no more.
                let has_failed = ack.statuses.iter().any(|status| *status != DataStatus::Success);
                if stream.write_all(&bytes).is_err() || has_failed {
                    return;
                }
            }
        }
    }
}

/// Numbers of the DataNodes of a pipeline; their replicas are begun.
fn pipeline_of(shared: &Shared, index: usize, write: &WriteRequest) -> Option<Vec<usize>> {
    let mut state = shared.lock();
    let mut pipeline = vec![index];
    for target in &write.targets {
        pipeline.push(state.nodes.iter().position(|node| node.info == *target)?);
    }
    if write.pipeline_nodes as usize != pipeline.len() || write.client.is_empty() || write.source.is_some() {
        state.violations.push(format!("a write request {write:?}"));
    }
    for at in &pipeline {
        let replicas = &mut state.nodes[*at].replicas;
        match replicas.get_mut(&write.block_id) {
            Some(replica) if write.is_recovery && replica.generation == write.generation => replica.is_final = false,
            None if !write.is_recovery => {
                let replica = Replica { generation: write.generation, bytes: Vec::new(), is_final: false };
                replicas.insert(write.block_id, replica);
            }
            _ => state.violations.push(format!("a write request for a replica of another state: {write:?}")),
        }
    }
    Some(pipeline)
}

fn take_packet(
    shared: &Shared,
    pipeline: &[usize],
    write: &WriteRequest,
    sequence: i64,
    offset: usize,
    is_last: bool,
    data: &[u8],
) -> PacketOutcome {
    let mut state = shared.lock();
    let mut statuses = Vec::new();
    let mut acknowledged = sequence;
    for at in pipeline {
        let node = &mut state.nodes[*at];
        let number = sequence as usize;
        match node.fault {
            Some(Fault::CutsAfter(count) | Fault::DiesAfter(count)) if number >= count => {
                if statuses.is_empty() {
                    return PacketOutcome::Cut;
                }
                statuses.push(DataStatus::Error);
                break;
            }
            Some(Fault::SilentAfter(count)) if number >= count => {
                if statuses.is_empty() {
                    return PacketOutcome::Silent;
                }
                statuses.push(DataStatus::Error);
                break;
            }
            Some(Fault::FailsPacket(bad)) if number == bad => {
                statuses.push(DataStatus::ErrorChecksum);
                break;
            }
            Some(Fault::MisnumbersPacket(bad)) if number == bad && statuses.is_empty() => acknowledged += 1,
            _ => {}
        }
        let gap = {
            let replica = node.replicas.get_mut(&write.block_id).unwrap();
            // The block was recovered while packets of the old pipeline were on their way.
            if replica.generation != write.generation {
                return PacketOutcome::Cut;
            }
            let gap = offset > replica.bytes.len();
            if !gap {
                replica.bytes.truncate(offset);
                replica.bytes.extend_from_slice(data);
                replica.is_final = is_last;
            }
            gap
        };
        if gap {
            state.violations.push(format!("packet {sequence} at {offset} leaves a gap"));
        }
        statuses.push(DataStatus::Success);
    }
    drop(state);
    shared.notify();
    PacketOutcome::Acknowledged(PipelineAck { sequence: acknowledged, statuses })
}

/// Serves a connection to the IPC port of a DataNode.
pub fn serve_ipc(mut stream: TcpStream, shared: &Shared, index: usize) {
    let fault = shared.lock().nodes[index].fault;
    if matches!(fault, Some(Fault::Closes | Fault::DiesAfter(_))) || read_opening(&stream).is_err() {
        return;
    }
    while let Ok(frame) = read_frame(&stream) {
        let call = decode_hdfs_call(&frame).unwrap();
        let outcome = match &call.call {
            HdfsCall::GetProtocolVersion { .. } => {
                HdfsOutcome::Value(HdfsAnswer::Long(HdfsProtocol::ClientDatanode.version()))
            }
            HdfsCall::RecoverBlock { block, keep_length: false, nodes } if fault != Some(Fault::Refuses) => {
                let names: Vec<_> = nodes.iter().map(|node| node.name.clone()).collect();
                recover(shared, block, &names)
            }
            other => HdfsOutcome::Error(RemoteException {
                class: "java.io.IOException".to_owned(),
                message: format!("not served: {other:?}"),
            }),
        };
        let mut bytes = Vec::new();
        encode_hdfs_response(&mut bytes, &HdfsResponse { id: call.id, outcome });
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Cuts the replicas to the shortest, and gives them a new generation.
fn recover(shared: &Shared, block: &Block, names: &[String]) -> HdfsOutcome {
    let mut state = shared.lock();
    state.next_generation += 1;
    let generation = state.next_generation;
    let is_known = state.files.values().flat_map(|file| &file.blocks).any(|known| known.id == block.id);
    if !is_known {
        state.violations.push(format!("recovery of {block}, which no file has"));
    }
    let has = |replica: &&mut Replica| replica.generation == block.generation;
    let mut nodes: Vec<_> = state.nodes.iter_mut().filter(|node| names.contains(&node.info.name)).collect();
    let lengths = nodes.iter_mut().filter_map(|node| node.replicas.get_mut(&block.id).filter(has));
    let shortest = lengths.map(|replica| replica.bytes.len()).min();
    let Some(shortest) = shortest else {
        let message = format!("java.io.IOException: {block} is not there");
        return HdfsOutcome::Error(RemoteException { class: "java.io.IOException".to_owned(), message });
    };
    let mut recovered = Vec::new();
    for node in nodes {
        if let Some(replica) = node.replicas.get_mut(&block.id).filter(has) {
            replica.bytes.truncate(shortest);
            replica.generation = generation;
            recovered.push(jobtracker::wire::hdfs::DatanodeInfo {
                host: "".into(),
                capacity_bytes: 0,
                ..node.info.clone()
            });
        }
    }
    state.set_generation(block.id, generation);
    let block = Block { generation, length_bytes: shortest as i64, id: block.id };
    HdfsOutcome::Value(HdfsAnswer::RecoveredBlock(Some(LocatedBlock {
        token: no_token(),
        is_corrupt: false,
        offset_bytes: 0,
        block,
        nodes: recovered,
    })))
}
