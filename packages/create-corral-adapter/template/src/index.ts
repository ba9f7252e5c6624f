/** corral-adapter-id for Corral: how the program starts, what its lines mean, and how a decision or an answer reaches it. */
import { OutputCollector, runtimeFailure } from "@corral/adapters/output/OutputCollector"
import { arrayOf, textOf, type JsonObject } from "@corral/adapters/text/Json"
import { JsonLines, type JsonLine } from "@corral/adapters/text/JsonLines"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { fileURLToPath } from "node:url"

const label = "corral-adapter-id"
const program = fileURLToPath(new URL("../agent/agent.mjs", import.meta.url))
/** Id of the only question of a request. */
const QUESTION = "answer"
const line = (value: object): string => `${JSON.stringify(value)}\n`

class AgentProtocol implements Protocol {
  readonly open: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  #messages = 0
  #questions = 0

  constructor({ prompt }: RunStart) {
    this.open = line({ task: prompt })
  }

  readonly step: Protocol["step"] = (chunk) => this.#read(this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    const outputs = this.#read(this.#lines.end())
    // Has no effect after the outcome.
    this.#collector.concludeAtExit(label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision }) =>
    this.#collector.takeAnswer(key) ? line({ allow: decision === "allow" }) : undefined

  /** The answer of a person. Without one the program receives no option. */
  readonly respond: NonNullable<Protocol["respond"]> = (key, response) => {
    if (!this.#collector.takeResponse(key)) return undefined
    const answer = response._tag === "Answered" ? (response.answers[QUESTION] ?? null) : null
    return line({ answer })
  }

  readonly input: Protocol["input"] = () => undefined

  /** The program has no cancel message: signals end it, and later failures count as cancelled. */
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (value) => this.#applyLine(value))
  }

  #applyLine(value: JsonObject): void {
    const collector = this.#collector
    const [hello, says, wants, wrote, done, failed] = [
      "hello",
      "says",
      "wants",
      "wrote",
      "done",
      "failed"
    ].map((name) => textOf(value[name]))
    const [asks, starts, ends] = ["asks", "starts", "ends"].map((name) => textOf(value[name]))
    if (hello !== undefined) return collector.start({ runtimeVersion: hello })
    if (asks !== undefined) return this.#ask(asks, arrayOf(value["options"]))
    // The run continues until this work ends. `true`: the program starts a turn because of it.
    if (starts !== undefined) return collector.startWork({ id: starts, kind: "command", title: starts })
    if (ends !== undefined) return collector.endWork(ends, "completed", true)
    if (says !== undefined) {
      // The first line of a turn that the program starts by itself.
      if (collector.isIdle) collector.startTurn()
      const messageId = `m${++this.#messages}`
      const message = { messageId, role: "assistant", channel: "text", text: says } as const
      return collector.emitEvent(draft("run.message.completed", message))
    }
    if (wants !== undefined) {
      collector.openCall({ callId: wants, tool: "write", label: `Write ${wants}` })
      collector.requestApproval(wants, {
        action: "write",
        risk: "low",
        title: `Write ${wants}`,
        tool: "write",
        callId: wants,
        files: [wants],
        editable: false,
        scopes: ["once"]
      })
      return
    }
    if (wrote !== undefined) {
      collector.closeCall({ callId: wrote, status: "completed" })
      return collector.emitEvent(draft("run.file.changed", { path: wrote, change: "created" }))
    }
    if (done !== undefined) return collector.endTurn({ _tag: "Completed", text: done })
    if (failed !== undefined) return collector.fail(runtimeFailure("not_written", failed))
    return collector.countUnknown("line")
  }

  #ask(text: string, options: ReadonlyArray<unknown>): void {
    const labels = options.filter((option) => typeof option === "string")
    this.#collector.requestInput(`q${++this.#questions}`, {
      kind: "question",
      title: text,
      questions: [
        { id: QUESTION, text, kind: "choice", options: labels.map((label) => ({ id: label, label })) }
      ]
    })
  }
}

const adapter: RuntimeAdapter = {
  specificationVersion: 2,
  id: "corral-adapter-id",
  label,
  capabilities: {
    deltas: false,
    approvals: true,
    editInput: false,
    resume: false,
    readOnly: false,
    cancel: false,
    input: false
  },
  probe: {
    command: process.execPath,
    versionArgs: [program, "--version"],
    install: "It is part of the package."
  },
  command: () => ({ file: process.execPath, args: [program], stdin: "pipe" }),
  protocol: (start) => new AgentProtocol(start)
}

export default adapter
