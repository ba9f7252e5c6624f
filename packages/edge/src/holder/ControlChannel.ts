/** Descriptor 3 of a program that the holder started, as a Duplex over `control` frames. It ends with the process. */
import { Duplex } from "node:stream"
import type { HeldRunConnection } from "./HeldRunConnection.ts"

/** Bytes that wait for a reader. A program that sends more loses the channel. */
const MAX_WAITING = 1_048_576

export class ControlChannel extends Duplex {
  readonly #connection: HeldRunConnection

  constructor(connection: HeldRunConnection) {
    super({ autoDestroy: true })
    this.#connection = connection
  }

  /** Adds bytes that the program sent. */
  receive(bytes: Uint8Array): void {
    if (this.destroyed) return
    if (this.readableLength > MAX_WAITING) this.destroy()
    else this.push(Buffer.from(bytes))
  }

  override _read(): void {
    // Bytes arrive when the program sends them.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#connection.writeControl(bytes)
    done()
  }
}
