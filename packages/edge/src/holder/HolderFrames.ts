/**
 * Frames between an Edge and its holder: a type (1 byte), the length of the payload (4 bytes, big-endian), the payload. Payloads are JSON in frames
 * that control, and raw bytes in frames that carry data.
 *
 * At the Edge's end all connections share one buffer, because each read is processed before the next one: a connection without data holds no memory
 * for reads. Payloads are valid until their handler returns.
 *
 * Plain code without Effect, because the holder has none.
 */
import { connect, type Socket } from "node:net"

/** Version of the frames and their payloads. Holders and Edges of different formats do not work together. */
export const HOLDER_FORMAT = 1

const MAX_PAYLOAD = 16_777_216
const HEADER_BYTES = 5
/** Below this size, one write of a copy costs less than two writes. */
const WORTH_TWO_WRITES = 16_384

/** Types of frames, by direction. */
export const frameTypes = {
  // From an Edge, on its control connection.
  hello: 1,
  endHolder: 2,
  // From an Edge, on the connection of a run.
  open: 3,
  keepPart: 4,
  keep: 5,
  start: 6,
  read: 7,
  write: 8,
  closeInput: 9,
  endRun: 10,
  // In both directions: bytes of descriptor 3 of the program.
  control: 11,
  // From an Edge, on the connection of a run.
  until: 12,
  keepKey: 13,
  processed: 14,
  // From the holder.
  welcome: 32,
  opened: 33,
  blob: 34,
  kept: 35,
  started: 36,
  spawnError: 37,
  data: 38,
  gone: 39,
  ended: 40,
  refused: 41
} as const

const allTypes: ReadonlySet<number> = new Set(Object.values(frameTypes))

const putHeader = (frame: Buffer, type: number, length: number): void => {
  frame[0] = type
  frame.writeUInt32BE(length, 1)
}

/** A frame with a copy of the payload. */
export const frameOf = (type: number, payload?: Uint8Array): Buffer => {
  const length = payload?.length ?? 0
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  putHeader(frame, type, length)
  if (payload !== undefined) frame.set(payload, HEADER_BYTES)
  return frame
}

export const textFrame = (type: number, text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  putHeader(frame, type, length)
  frame.write(text, HEADER_BYTES)
  return frame
}

export const jsonFrame = (type: number, value: object): Buffer => textFrame(type, JSON.stringify(value))

interface FrameSocket {
  cork(): void
  uncork(): void
  write(bytes: Uint8Array): boolean
}

/** Writes a frame. Returns whether the socket accepts more now. A large payload is not copied. */
export const writeFrame = (socket: FrameSocket, type: number, payload: Uint8Array): boolean => {
  if (payload.length < WORTH_TWO_WRITES) return socket.write(frameOf(type, payload))
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  putHeader(header, type, payload.length)
  socket.cork()
  socket.write(header)
  const accepts = socket.write(payload)
  socket.uncork()
  return accepts
}

interface FrameHandlers {
  /** `payload` is valid until the handler returns, if the reader's chunks are. */
  readonly onFrame: (type: number, payload: Buffer) => void
  /** A part of a frame of the type `streamed`, which is not collected. */
  readonly onPiece?: (piece: Buffer) => void
  /** The bytes are not frames. Called once. */
  readonly onInvalid: (reason: string) => void
}

/** Cuts chunks of a connection into frames. */
export class FrameReader {
  readonly #handlers: FrameHandlers
  readonly #streamed: number | undefined
  #headerBytes = 0
  #type = 0
  /** Bytes of the payload that have not arrived. */
  #missing = 0
  #pieces: Array<Buffer> = []
  #isStopped = false
  /** Maximum length of a payload. */
  maxPayload: number

  /** `streamed`: the type of frames whose payloads are given in pieces. */
  constructor(handlers: FrameHandlers, { maxPayload = MAX_PAYLOAD, streamed }: FrameReaderOptions = {}) {
    this.#handlers = handlers
    this.#streamed = streamed
    this.maxPayload = maxPayload
  }

  /** Ignores what follows. */
  stop(): void {
    this.#isStopped = true
    this.#pieces = []
  }

  push(chunk: Buffer): void {
    let at = 0
    while (!this.#isStopped && at < chunk.length) {
      if (this.#headerBytes < HEADER_BYTES) {
        at = this.#readHeader(chunk, at)
        if (this.#headerBytes === HEADER_BYTES && this.#missing === 0 && !this.#isStopped) this.#finish()
      } else at = this.#readPayload(chunk, at)
    }
  }

  #readHeader(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + HEADER_BYTES - this.#headerBytes)
    // As numbers: a small buffer of a connection would keep the memory that Node shares among small buffers.
    for (let at = start; at < end; at++) {
      const byte = chunk[at] ?? 0
      if (this.#headerBytes++ === 0) this.#type = byte
      else this.#missing = this.#missing * 256 + byte
    }
    if (this.#headerBytes < HEADER_BYTES) return end
    if (!allTypes.has(this.#type)) this.#refuse(`unknown type ${this.#type}`)
    else if (this.#missing > this.maxPayload) this.#refuse(`a payload of ${this.#missing} bytes`)
    return end
  }

  #readPayload(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + this.#missing)
    const piece = chunk.subarray(start, end)
    this.#missing -= piece.length
    if (this.#type === this.#streamed) {
      if (this.#missing === 0) this.#headerBytes = 0
      this.#handlers.onPiece?.(piece)
    } else if (this.#missing === 0 && this.#pieces.length === 0) this.#finish(piece)
    else {
      // Copied, because the reader's chunk may be reused.
      this.#pieces.push(Buffer.from(piece))
      if (this.#missing === 0) this.#finish(Buffer.concat(this.#pieces))
    }
    return end
  }

  #finish(payload: Buffer = Buffer.alloc(0)): void {
    this.#headerBytes = 0
    this.#pieces = []
    if (this.#type !== this.#streamed) this.#handlers.onFrame(this.#type, payload)
  }

  #refuse(reason: string): void {
    this.stop()
    this.#handlers.onInvalid(reason)
  }
}

interface FrameReaderOptions {
  readonly maxPayload?: number
  readonly streamed?: number | undefined
}

interface HolderSocketHandlers {
  readonly onFrame: (type: number, payload: Buffer) => void
  /** A part of the program's output. */
  readonly onData?: (piece: Buffer) => void
  /** Called once. */
  readonly onClose: (reason: NodeJS.ErrnoException) => void
}

/** A reason that is not of the operating system. Without a code, the holder has ended. */
const problem = (message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code: "PROTOCOL" })

const READ_BYTES = 65_536
let shared: Buffer | undefined

export const connectSocket = (path: string, handlers: HolderSocketHandlers): Socket => {
  shared ??= Buffer.allocUnsafeSlow(READ_BYTES)
  // An error keeps what its stack has: none is made before there is a reason.
  let reason: NodeJS.ErrnoException | undefined
  const reader = new FrameReader(
    {
      onFrame: (type, payload) => {
        if (type !== frameTypes.refused) return handlers.onFrame(type, payload)
        reason = problem(`the holder refused: ${payload.toString("utf8")}`)
      },
      ...(handlers.onData === undefined ? {} : { onPiece: handlers.onData }),
      onInvalid: (bytes) => socket.destroy(problem(`the holder sent ${bytes}`))
    },
    { streamed: frameTypes.data }
  )
  const socket = connect({
    path,
    onread: {
      buffer: shared,
      callback: (count, bytes) => {
        reader.push(Buffer.from(bytes.buffer, bytes.byteOffset, count))
        return true
      }
    }
  })
  socket.on("error", (error) => (reason = error))
  socket.once("close", () => {
    reader.stop()
    handlers.onClose(reason ?? new Error("the holder closed the connection"))
  })
  return socket
}
