/**
 * Batches as WebSocket text frames (RFC 6455 §5.2: unmasked, as a server sends them), one frame an event, made once per batch;
 * and pings.
 */
/** Envelopes of consecutive events as JSON lines. */
export interface FrameBatch {
  readonly lines: string
  /** The lines in UTF-8, if they are already encoded. */
  readonly bytes?: Buffer
  /** Result of `framesOf`, shared by all readers of the batch. */
  frames?: Buffer
}

const TEXT = 0x81
const PING = 0x89

const headerSize = (length: number): number => (length < 126 ? 2 : length < 65_536 ? 4 : 10)

/** Writes the header of a text frame. Returns the offset of its payload. */
const writeHeader = (frames: Buffer, at: number, length: number): number => {
  frames[at] = TEXT
  if (length < 126) {
    frames[at + 1] = length
    return at + 2
  }
  if (length < 65_536) {
    frames[at + 1] = 126
    frames.writeUInt16BE(length, at + 2)
    return at + 4
  }
  frames[at + 1] = 127
  frames.writeUInt32BE(0, at + 2)
  frames.writeUInt32BE(length, at + 6)
  return at + 10
}

const encode = (text: Buffer): Buffer => {
  const ends: Array<number> = []
  let size = 0
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf(10, start)
    const end = newline === -1 ? text.length : newline
    ends.push(end)
    size += headerSize(end - start) + (end - start)
    start = end + 1
  }
  const frames = Buffer.allocUnsafe(size)
  let at = 0
  let start = 0
  for (const end of ends) {
    at = writeHeader(frames, at, end - start)
    text.copy(frames, at, start, end)
    at += end - start
    start = end + 1
  }
  return frames
}

/** A ping. Its payload has at most 125 bytes. */
export const pingFrame = (payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([PING, payload.length]), payload])

/** The frames of a batch; the same Buffer for every reader of the same batch. */
export const framesOf = (batch: FrameBatch): Buffer =>
  (batch.frames ??= encode(batch.bytes ?? Buffer.from(batch.lines)))
