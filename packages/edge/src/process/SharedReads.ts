/**
 * Reads of a child's pipe into one buffer, which all pipes share.
 *
 * Node's stream allocates 64 KiB for each read and passes it through a queue, which costs a process that only forwards more than all its
 * other work. Sockets that a program connects have `onread` for this; pipes of children have it only by the handle that both share.
 */
import { Socket } from "node:net"
import type { Readable } from "node:stream"

/** Node's handle of a pipe, which a socket can be made of. */
interface PipeOwner {
  _handle?: { readonly useUserBuffer?: unknown } | null
}

const READ_BYTES = 65_536
let shared: Buffer | undefined

/** Moves the pipe of `stdout` to a socket with shared reads. Returns the stream if this version of Node has no such handle. */
export const withSharedReads = (stdout: Readable, onRead: (bytes: Buffer) => void): Readable => {
  // Node declares no handle. What is used of it is checked here.
  const owner = stdout as unknown as PipeOwner
  const handle = owner._handle
  if (typeof handle?.useUserBuffer !== "function") return stdout.on("data", onRead)
  owner._handle = null
  const buffer = (shared ??= Buffer.allocUnsafeSlow(READ_BYTES))
  const options = {
    handle,
    readable: true,
    writable: false,
    onread: {
      buffer,
      callback: (count: number) => {
        onRead(buffer.subarray(0, count))
        return true
      }
    }
  }
  return new Socket(options)
}
