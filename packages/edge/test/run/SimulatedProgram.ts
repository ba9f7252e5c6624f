/**
 * Program of a simulated run and its holder: it lives through crashes of the Edge, prints the protocol of the scripted runtime, and notes what it
 * receives. It accepts each byte of stdin once, and keeps all that it has printed.
 */
import type { RunChild, RunChildHandlers } from "../../src/process/RunChild.ts"
import type { HeldClocks } from "../../src/run/actor/RunSession.ts"

/** One thing that the program does. It waits after a question, a plan and the end of a script. */
export type ProgramStep = "ask" | "plan" | "secret" | "leave" | "askNext" | "work" | "endTurn" | "continue"

export interface ReceivedResponse {
  readonly id: string
  readonly answers?: Readonly<Record<string, unknown>>
  readonly approved?: boolean
  readonly unanswered?: string
}

const requests: { readonly [S in "ask" | "plan" | "secret" | "leave" | "askNext"]: object } = {
  ask: {
    kind: "question",
    title: "Which?",
    questions: [
      {
        id: "1",
        text: "Which?",
        kind: "choice",
        options: [
          { id: "a", label: "A" },
          { id: "b", label: "B" }
        ],
        allowsOther: true
      }
    ]
  },
  plan: { kind: "plan", title: "A plan", plan: "Do it." },
  secret: {
    kind: "question",
    title: "Password?",
    questions: [{ id: "1", text: "Password?", kind: "text", secret: true }]
  },
  leave: { kind: "question", title: "Never mind", questions: [{ id: "1", text: "?", kind: "text" }] },
  askNext: {
    kind: "question",
    title: "And then?",
    questions: [{ id: "1", text: "And then?", kind: "text" }],
    startsTurn: true
  }
}

export class SimulatedProgram {
  /** Responses in the order of their arrival. */
  readonly responses: Array<ReceivedResponse> = []
  /** Private keys that the holder keeps, by question. */
  readonly keys: Record<string, string> = {}
  /** What the holder's clocks follow; `undefined` before the first message about them. */
  clocks: HeldClocks | undefined
  stdinBytes = 0
  readonly #steps: ReadonlyArray<ProgramStep>
  #printed = Buffer.alloc(0)
  #line = ""
  #at = 0
  #questionCount = 0
  #waitsFor: string | undefined
  #handlers: RunChildHandlers | undefined

  constructor(steps: ReadonlyArray<ProgramStep>) {
    this.#steps = steps
  }

  get printed(): Buffer {
    return this.#printed
  }

  /** The process as an Edge sees it, whose output it reads from that byte on. */
  attach(handlers: RunChildHandlers, from: number): RunChild {
    this.#handlers = handlers
    const missed = this.#printed.subarray(from)
    if (missed.length > 0) handlers.onChunk(Buffer.from(missed))
    const isAttached = () => this.#handlers === handlers
    return {
      pid: undefined,
      isConfined: false,
      isGone: false,
      startTicks: 0,
      write: (text) => (isAttached() ? this.#receive(Buffer.from(text)) : undefined),
      closeInput: () => undefined,
      pause: () => undefined,
      resume: () => undefined
    }
  }

  /** The Edge has died. */
  detach(): void {
    this.#handlers = undefined
  }

  /** The program stops waiting for its question. */
  giveUp(): void {
    const id = this.#waitsFor
    if (id === undefined) return
    this.#waitsFor = undefined
    this.#print({ type: "unasked", id, state: "self_answered" })
    this.#continue()
  }

  #receive(bytes: Buffer): void {
    this.stdinBytes += bytes.length
    const lines = (this.#line + bytes.toString()).split("\n")
    this.#line = lines.pop() ?? ""
    for (const line of lines) this.#handle(JSON.parse(line))
  }

  #handle(line: { readonly type: string } & ReceivedResponse): void {
    if (line.type === "start") {
      this.#print({ type: "hello", session: "s", version: "1", mode: "ask" })
      this.#continue()
    } else if (line.type === "response") {
      this.responses.push(line)
      if (line.id !== this.#waitsFor) return
      this.#waitsFor = undefined
      this.#continue()
    } else if (line.type === "input") {
      this.#print({ type: "message", id: `m${this.#printed.length}`, channel: "text", text: "noted" })
    }
  }

  /** Continues the script until it waits for a response. */
  #continue(): void {
    while (this.#waitsFor === undefined && this.#at < this.#steps.length) this.#act(this.#steps[this.#at++])
  }

  #act(step: ProgramStep | undefined): void {
    switch (step) {
      case "work":
        return this.#print({ type: "work", id: "w", kind: "agent", title: "Work", state: "running" })
      case "endTurn":
        return this.#print({ type: "done", status: "completed", text: "the turn" })
      case "continue":
        return this.#print({ type: "turn" })
      case undefined:
        return
      default:
        return this.#ask(step)
    }
  }

  #ask(step: keyof typeof requests): void {
    const id = `q${++this.#questionCount}`
    this.#print({ type: "question", id, request: requests[step] })
    if (step === "leave") this.#print({ type: "unasked", id, state: "withdrawn" })
    else this.#waitsFor = id
    if (step === "askNext") this.#print({ type: "done", status: "completed", text: "asks" })
  }

  #print(line: object): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    this.#printed = Buffer.concat([this.#printed, bytes])
    this.#handlers?.onChunk(bytes)
  }
}
