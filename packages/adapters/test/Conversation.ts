/** A real program, run as an adapter says and talked to as a run's actor would: the outcome closes its stdin. */
import type {
  AdapterOutput,
  ApprovalAnswer,
  ProcessEnd,
  Protocol,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"

export class Conversation {
  readonly outputs: Array<AdapterOutput> = []
  readonly protocol: Protocol
  readonly child: ChildProcessWithoutNullStreams
  /** What the process's end added, once it has ended; stdout may be held open by others. */
  readonly ended: Promise<ProcessEnd>
  readonly #waiting = new Set<() => void>()

  constructor(adapter: RuntimeAdapter, start: RunStart, env: Readonly<Record<string, string>> = {}) {
    const command = adapter.command(start)
    this.protocol = adapter.protocol(start)
    this.child = spawn(command.file, command.args, {
      cwd: start.workspacePath,
      env: { ...process.env, ...command.env, ...env },
      stdio: "pipe",
      detached: true
    })
    let stderr = ""
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    this.child.stdin.on("error", () => {})
    this.child.stdout.on("data", (chunk: Uint8Array) => this.#dispatch(this.protocol.step(chunk)))
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null) => {
        const processEnd = { code, signal, stderr }
        this.#dispatch(this.protocol.end(processEnd))
        resolve(processEnd)
      }
      this.child.once("close", end)
      // If another process holds stdout, there is no `close`. The output is read by then.
      this.child.once(
        "exit",
        (code, signal) => this.outputs.some(({ _tag }) => _tag === "Outcome") && end(code, signal)
      )
    })
    this.write(this.protocol.open)
  }

  write(text: string | undefined): void {
    if (text !== undefined) this.child.stdin.write(text)
  }

  answer(key: string, answer: ApprovalAnswer): void {
    this.write(this.protocol.answer(key, answer))
  }

  /** The next output of that kind that is not seen yet; waits for it. */
  async next<Tag extends AdapterOutput["_tag"]>(
    tag: Tag,
    wanted: (output: Extract<AdapterOutput, { _tag: Tag }>) => boolean = () => true
  ): Promise<Extract<AdapterOutput, { _tag: Tag }>> {
    const is = (output: AdapterOutput): output is Extract<AdapterOutput, { _tag: Tag }> => output._tag === tag
    for (;;) {
      const found = this.outputs.filter(is).find(wanted)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  /** The text of the last whole message. */
  get lastText(): string | undefined {
    const texts = this.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.message.completed"
        ? [output.event.payload.text]
        : []
    )
    return texts.at(-1)
  }

  /** The types of events, and the tags of what is none, deltas left out. */
  get shape(): ReadonlyArray<string> {
    return this.outputs
      .map((output) => (output._tag === "Event" ? output.event.type : output._tag))
      .filter((type) => type !== "run.message.delta")
  }

  #dispatch(outputs: ReadonlyArray<AdapterOutput>): void {
    for (const output of outputs) {
      this.outputs.push(output)
      if (output._tag === "Reply") this.write(output.text)
      if (output._tag === "Outcome") this.child.stdin.end()
    }
    if (outputs.length === 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Ends what is left of the process group that this conversation started. */
  stop(): void {
    const { pid } = this.child
    if (pid === undefined) return
    try {
      process.kill(-pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }
}

/** A folder with these files, removed by `remove`. */
export const workspace = (files: Readonly<Record<string, string>>) => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "corral-adapters-")))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), text)
  }
  return { path: root, remove: () => rmSync(root, { recursive: true, force: true }) }
}
