/**
 * Stdin of a run's process. What is written before the process may read waits, and goes out with the protocol's opening.
 *
 * For a process that an earlier Edge started, the same texts are written again from the first one on, and the bytes that the process has
 * received already are left out. So it receives each byte once, also if the earlier Edge ended within a text.
 */
import type { RunChild } from "../process/RunChild.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"

export class RuntimeStdin {
  #child: RunChild | undefined
  #waiting: Array<string>
  /** Bytes that the process has received before. */
  #received: number

  constructor(opening: string, received = 0) {
    this.#waiting = [opening]
    this.#received = received
  }

  write(text: string): void {
    if (this.#child === undefined) this.#waiting.push(text)
    else if (this.#received === 0) this.#child.write(text)
    else this.#writeRest(this.#child, Buffer.from(text))
  }

  /** Writes the pending texts. Later texts go directly to the process. */
  open(child: RunChild, stdin: SubprocessSpec["stdin"]): void {
    this.#child = child
    const text = this.#waiting.join("")
    this.#waiting = []
    this.write(text)
    if (stdin === "once") child.closeInput()
  }

  #writeRest(child: RunChild, bytes: Buffer): void {
    const before = Math.min(this.#received, bytes.length)
    this.#received -= before
    if (before < bytes.length) child.write(bytes.subarray(before))
  }
}
