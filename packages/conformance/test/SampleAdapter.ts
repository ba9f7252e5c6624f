/** A correct adapter of an invented program, its recordings, and the same adapter with one fault. */
import { OutputCollector, runtimeFailure } from "@corral/adapters/output/OutputCollector"
import { arrayOf, defined, objectOf, textOf, type JsonObject } from "@corral/adapters/text/Json"
import { JsonLines, type JsonLine } from "@corral/adapters/text/JsonLines"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { startIn } from "../src/Declaration.ts"
import { replay, type Recording } from "../src/Replay.ts"

const label = "Sample"
const line = (value: object): string => `${JSON.stringify(value)}\n`

class SampleProtocol implements Protocol {
  readonly open: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()

  constructor({ prompt, resumeSessionId }: RunStart) {
    this.open = line({ prompt, session: resumeSessionId })
  }

  readonly step: Protocol["step"] = (chunk) => this.#read(this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    const outputs = this.#read(this.#lines.end())
    this.#collector.concludeAtExit(label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision }) =>
    this.#collector.takeAnswer(key) ? line({ key, allow: decision === "allow" }) : undefined

  readonly respond: Protocol["respond"] = (key, response) =>
    this.#collector.takeResponse(key)
      ? line(response._tag === "Answered" ? { key, answers: response.answers } : { key, answers: null })
      : undefined

  readonly input: Protocol["input"] = (text) => line({ text })

  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return line({ cancel: true })
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (value) => this.#applyLine(value))
  }

  #applyLine(value: JsonObject): void {
    const collector = this.#collector
    const id = textOf(value["id"]) ?? ""
    const text = textOf(value["text"]) ?? ""
    switch (value["type"]) {
      case "hello":
        return collector.start(defined({ runtimeVersion: textOf(value["version"]) }))
      case "delta":
        return collector.emitEvent(draft("run.message.delta", { messageId: id, channel: "text", text }))
      case "said":
        return collector.emitEvent(
          draft("run.message.completed", { messageId: id, role: "assistant", channel: "text", text })
        )
      case "edit": {
        const input = objectOf(value["input"])
        const files = [textOf(input?.["file_path"]) ?? ""]
        collector.openCall({ callId: id, tool: "edit", label: `Edit ${files[0]}`, input })
        const request = {
          action: "write",
          risk: "low",
          title: "Edit",
          tool: "edit",
          callId: id,
          files
        } as const
        collector.requestApproval(id, { ...request, input, editable: false, scopes: ["once"] })
        return
      }
      case "edited":
        collector.closeCall({ callId: id, status: "completed" })
        return collector.emitEvent(draft("run.file.changed", { path: text, change: "modified" }))
      case "ask":
        collector.requestInput(id, {
          kind: "question",
          title: text,
          questions: [{ id: "q", text, kind: "choice", options: arrayOf(value["options"]).map(optionOf) }]
        })
        return
      case "begin":
        return collector.startWork({ id, kind: "agent", title: text })
      case "end":
        return collector.endWork(id, "completed", true)
      case "turn":
        return collector.startTurn()
      case "done":
        return collector.endTurn({ _tag: "Completed", text })
      case "fatal":
        return collector.fail(runtimeFailure("server_error", text))
      default:
        return collector.countUnknown(textOf(value["type"]) ?? "untyped")
    }
  }
}

const optionOf = (label: unknown) => ({ id: textOf(label) ?? "", label: textOf(label) ?? "" })

export const sampleAdapter: RuntimeAdapter = {
  specificationVersion: 2,
  id: "sample",
  label,
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: false,
    resume: true,
    readOnly: false,
    cancel: true,
    input: true
  },
  probe: {
    command: "sample",
    versionArgs: ["--version"],
    install: "Install it.",
    signedIn: { args: ["who"], read: ({ code }) => code === 0 }
  },
  passEnv: ["SAMPLE_*"],
  command: () => ({ file: "sample", args: ["--json"], stdin: "pipe" }),
  protocol: (start) => new SampleProtocol(start)
}

const recording = (
  name: string,
  lines: ReadonlyArray<object>,
  expected: Recording["expected"]
): Recording => {
  const recorded: Recording = {
    name,
    start: startIn("ask"),
    stdout: new TextEncoder().encode(lines.map(line).join("")),
    chunkSizes: [30, 90],
    exit: { code: 0, signal: null, stderr: "" },
    expected
  }
  const outputs = replay(sampleAdapter, recorded, [recorded.stdout])
  return { ...recorded, outputs: JSON.parse(JSON.stringify(outputs)) }
}

/** What the program printed in a run with each of its features, and in one that failed. */
export const sampleRecordings: ReadonlyArray<Recording> = [
  recording(
    "edits",
    [
      { type: "hello", version: "1.2.3" },
      { type: "delta", id: "m1", text: "I will edit " },
      { type: "delta", id: "m1", text: "the wörld 👩‍🚀." },
      { type: "said", id: "m1", text: "I will edit the wörld 👩‍🚀." },
      { type: "edit", id: "c1", input: { file_path: "notes.txt" } },
      { type: "edited", id: "c1", text: "notes.txt" },
      { type: "said", id: "m2", text: "It is edited." },
      { type: "done", text: "It is edited." }
    ],
    { outcome: "Completed" }
  ),
  recording(
    "delegates",
    [
      { type: "hello", version: "1.2.3" },
      { type: "ask", id: "q1", text: "Which colour?", options: ["Red", "Blue"] },
      { type: "begin", id: "w1", text: "Paint it" },
      { type: "said", id: "m1", text: "It is being painted." },
      { type: "done", text: "It is being painted." },
      { type: "edit", id: "c1", input: { file_path: "paint.txt" } },
      { type: "edited", id: "c1", text: "paint.txt" },
      { type: "end", id: "w1" },
      { type: "turn" },
      { type: "said", id: "m3", text: "It is blue now." },
      { type: "done", text: "It is blue now." }
    ],
    { outcome: "Completed" }
  ),
  recording(
    "fails",
    [
      { type: "hello", version: "1.2.3" },
      { type: "fatal", text: "Overloaded." }
    ],
    {
      outcome: "Failed",
      reason: "server_error"
    }
  )
]

/** The sample with one fault in its protocol. */
export const faultyProtocol = (
  fault: (protocol: Protocol, start: RunStart) => Partial<Protocol>
): RuntimeAdapter => ({
  ...sampleAdapter,
  protocol: (start) => {
    const protocol = sampleAdapter.protocol(start)
    const { answer, cancel, end, input, open, respond, step } = protocol
    return { answer, cancel, end, input, open, respond, step, ...fault(protocol, start) }
  }
})

/** The sample with changed outputs. */
export const faultyOutputs = (
  change: (output: AdapterOutput, start: RunStart) => ReadonlyArray<AdapterOutput>
): RuntimeAdapter =>
  faultyProtocol((protocol, start) => ({
    step: (chunk) => protocol.step(chunk).flatMap((output) => change(output, start)),
    end: (end) => protocol.end(end).flatMap((output) => change(output, start))
  }))
