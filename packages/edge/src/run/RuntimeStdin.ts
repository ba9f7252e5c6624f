/** Stdin of a run's process. What is written before the process may read waits, and goes out with the protocol's opening. */
import type { Subprocess, SubprocessSpec } from "../process/Subprocess.ts"

export class RuntimeStdin {
  #child: Subprocess | undefined
  #waiting: Array<string>

  constructor(opening: string) {
    this.#waiting = [opening]
  }

  write(text: string): void {
    if (this.#child === undefined) this.#waiting.push(text)
    else this.#child.write(text)
  }

  /** Writes the pending texts. Later texts go directly to the process. */
  open(child: Subprocess, stdin: SubprocessSpec["stdin"]): void {
    this.#child = child
    child.write(this.#waiting.join(""))
    this.#waiting = []
    if (stdin === "once") child.closeInput()
  }
}
