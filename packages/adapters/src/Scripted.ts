/**
 * Scripted runtime: an agent without a model, for first runs, tests and load. Its program is `runtime/scripted.mjs`, which documents the
 * protocol and the directives.
 */
import { Option, Schema } from "effect"
import { Buffer } from "node:buffer"
import { dirname } from "node:path"
import { ApprovalRequest } from "@corral/domain/approval/Approval"
import { Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { draft } from "@corral/domain/run/RunEvent"
import { Usage } from "@corral/domain/run/Run"
import type {
  AdapterEvent,
  AdapterOutput,
  InputResponse,
  Protocol,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"
import { Step, WorkKind } from "@corral/domain/run/Work"
import { defined, textOf, type JsonObject } from "./text/Json.ts"
import { JsonLines, type JsonLine } from "./text/JsonLines.ts"
import { OutputCollector, runtimeFailure } from "./output/OutputCollector.ts"

const label = "Scripted runtime"

const text = Schema.String
const optionalText = Schema.optionalKey(Schema.String)
const NoticeKind = Schema.Literals([
  "compacted",
  "model_changed",
  "rate_limited",
  "warning",
  "refused",
  "other"
])
const channel = Schema.Literals(["text", "reasoning"])

/** A request with any number of questions: those beyond the bound are reported. */
const AskedInput = Schema.Struct({
  ...RequestedInput.fields,
  questions: Schema.optionalKey(Schema.Array(Question))
})

/** Every line of the program except deltas. They are many, so they are read without a schema. */
const Message = Schema.Union([
  Schema.Struct({ type: Schema.Literal("hello"), session: text, version: text, mode: text }),
  Schema.Struct({ type: Schema.Literal("message"), id: text, channel, text }),
  Schema.Struct({
    type: Schema.Literal("tool"),
    id: text,
    tool: text,
    label: text,
    input: Schema.optionalKey(Schema.Unknown)
  }),
  Schema.Struct({
    type: Schema.Literal("result"),
    id: text,
    status: Schema.Literals(["completed", "failed", "denied", "cancelled"]),
    output: optionalText,
    exitCode: Schema.optionalKey(Schema.Int)
  }),
  Schema.Struct({ type: Schema.Literal("approval"), id: text, request: ApprovalRequest }),
  Schema.Struct({ type: Schema.Literal("withdrawn"), id: text, reason: text }),
  Schema.Struct({ type: Schema.Literal("read"), path: text, call: text }),
  Schema.Struct({
    type: Schema.Literal("file"),
    path: text,
    change: Schema.Literals(["created", "modified", "deleted"]),
    call: text
  }),
  Schema.Struct({ type: Schema.Literal("patch"), path: text, patch: text, call: text }),
  Schema.Struct({ type: Schema.Literal("usage"), usage: Usage }),
  Schema.Struct({
    type: Schema.Literal("artifact"),
    name: text,
    mediaType: text,
    content: text,
    encoding: Schema.optionalKey(Schema.Literal("base64")),
    call: optionalText
  }),
  Schema.Struct({ type: Schema.Literal("question"), id: text, request: AskedInput }),
  Schema.Struct({
    type: Schema.Literal("unasked"),
    id: text,
    state: Schema.Literals(["withdrawn", "self_answered"])
  }),
  Schema.Struct({
    type: Schema.Literal("work"),
    id: text,
    kind: WorkKind,
    title: text,
    state: Schema.Literals(["running", "completed", "failed", "stopped"]),
    continues: Schema.optionalKey(Schema.Boolean),
    parent: optionalText
  }),
  Schema.Struct({ type: Schema.Literal("turn"), ended: optionalText }),
  Schema.Struct({ type: Schema.Literal("steps"), steps: Schema.Array(Step) }),
  Schema.Struct({ type: Schema.Literal("notice"), kind: NoticeKind, text }),
  Schema.Struct({
    type: Schema.Literal("done"),
    status: Schema.Literals(["completed", "failed", "cancelled"]),
    text: optionalText,
    message: optionalText
  })
])
const decodeMessage = Schema.decodeUnknownOption(Message)

const line = (value: object): string => `${JSON.stringify(value)}\n`

const responseFields = (response: InputResponse): object => {
  switch (response._tag) {
    case "Answered":
      return { answers: response.answers, comment: response.comment }
    case "Unanswered":
      return { unanswered: response.reason }
    case "PlanApproved": {
      const { comment, endsRun, mode } = response
      return { approved: true, mode, comment, endsRun }
    }
    case "PlanReturned":
      return { approved: false, comment: response.comment }
  }
}

type FileMessage = Extract<typeof Message.Type, { readonly type: "read" | "file" | "patch" }>

const fileEventOf = (message: FileMessage): AdapterEvent => {
  const { call: callId, path } = message
  switch (message.type) {
    case "read":
      return draft("run.file.read", { path, callId })
    case "file":
      return draft("run.file.changed", { path, change: message.change, callId })
    case "patch":
      return draft("run.patch.proposed", { path, patch: message.patch, callId })
  }
}

/** `text`: the result of a turn that ended without a pause. */
const turnAfter = (text: string | undefined) =>
  text === undefined ? {} : { ended: { _tag: "Completed", text } as const }

class ScriptedProtocol implements Protocol {
  readonly open: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()

  constructor(start: RunStart) {
    const { model, prompt, mode, resumeSessionId: session } = start
    this.open = line({ type: "start", prompt, mode, model, session })
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    this.#collector.concludeAtExit(label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (id, { decision, reason, updatedInput }) =>
    this.#collector.takeAnswer(id)
      ? line({ type: "decision", id, allow: decision === "allow", reason, input: updatedInput })
      : undefined

  readonly respond: NonNullable<Protocol["respond"]> = (id, response) =>
    this.#collector.takeResponse(id) ? line({ type: "response", id, ...responseFields(response) }) : undefined

  readonly input: Protocol["input"] = (text) =>
    this.#collector.isOver ? undefined : line({ type: "input", text })

  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return line({ type: "cancel" })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (value) => {
      if (!this.#readDelta(value)) this.#readMessage(value)
    })
  }

  /** The hot path. */
  #readDelta({ type, id, channel, text }: JsonObject): boolean {
    if (type !== "delta" || typeof id !== "string" || typeof text !== "string") return false
    if (channel !== "text" && channel !== "reasoning") return false
    this.#collector.emitEvent(draft("run.message.delta", { messageId: id, channel, text }))
    return true
  }

  #readMessage(value: JsonObject): void {
    const collector = this.#collector
    const decoded = decodeMessage(value)
    if (Option.isNone(decoded)) return collector.countUnknown(textOf(value["type"]) ?? "untyped")
    const message = decoded.value
    switch (message.type) {
      case "hello":
        return collector.start({
          runtimeSessionId: message.session,
          runtimeVersion: message.version,
          mode: message.mode
        })
      case "message":
        return collector.emitEvent(
          draft("run.message.completed", {
            messageId: message.id,
            role: "assistant",
            channel: message.channel,
            text: message.text
          })
        )
      case "tool":
        return collector.openCall({
          callId: message.id,
          tool: message.tool,
          label: message.label,
          ...defined({ input: message.input })
        })
      case "result": {
        const { id: callId, status, output, exitCode } = message
        const isOpenCall = collector.closeCall({ callId, status, ...defined({ output, exitCode }) })
        return isOpenCall ? undefined : collector.countUnknown("result")
      }
      case "approval":
        return collector.requestApproval(message.id, message.request)
          ? undefined
          : collector.countUnknown("approval")
      case "withdrawn":
        return collector.withdrawApproval(message.id, message.reason)
          ? undefined
          : collector.countUnknown("withdrawn")
      case "read":
      case "file":
      case "patch":
        return collector.emitEvent(fileEventOf(message))
      case "usage":
        return collector.emit({ _tag: "Usage", usage: message.usage })
      case "artifact":
        return this.#readArtifact(message)
      case "question":
        return collector.requestInput(message.id, message.request)
          ? undefined
          : collector.countUnknown("question")
      case "unasked":
        return collector.withdrawInput(message.id, message.state)
          ? undefined
          : collector.countUnknown("unasked")
      case "work": {
        const { id, kind, title, state, continues, parent: parentCallId } = message
        return collector.work({ id, kind, title, state, ...defined({ continues, parentCallId }) })
      }
      case "turn":
        return collector.startTurn(turnAfter(message.ended))
      case "steps":
        return collector.steps(message.steps)
      case "notice":
        return collector.notice(message.kind, message.text)
      case "done":
        return this.#conclude(message)
    }
  }

  #readArtifact(artifact: Extract<typeof Message.Type, { type: "artifact" }>): void {
    const { call: callId, content, encoding, mediaType, name } = artifact
    const bytes = encoding === "base64" ? Buffer.from(content, "base64") : content
    this.#collector.artifact({ name, mediaType, content: bytes, ...defined({ callId }) })
  }

  #conclude(done: Extract<typeof Message.Type, { type: "done" }>): void {
    switch (done.status) {
      case "completed":
        return this.#collector.endTurn({ _tag: "Completed", ...defined({ text: done.text }) })
      case "cancelled":
        return this.#collector.conclude({ _tag: "Cancelled" })
      case "failed":
        return this.#collector.fail(runtimeFailure("script_failed", done.message ?? "The script failed."))
    }
  }
}

/** Scripted runtime. `node` is the absolute path of a Node executable, `program` that of `runtime/scripted.mjs`. */
export const makeScripted = ({
  node,
  program
}: {
  readonly node: string
  readonly program: string
}): RuntimeAdapter => ({
  specificationVersion: 2,
  id: "scripted",
  label,
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: true,
    resume: true,
    readOnly: true,
    cancel: true,
    input: true
  },
  counts: ["tokens", "turns", "cost"],
  reportsCost: true,
  probe: {
    command: node,
    versionArgs: [program, "--version"],
    install: "The scripted runtime comes with Corral: reinstall it."
  },
  folders: { state: [], reads: [dirname(program)] },
  network: { hosts: [], isNodeClient: false },
  command: ({ isConfined }) => ({
    file: node,
    args: [program],
    ...(isConfined === true ? { env: { SCRIPTED_TOOLS_USE_PROXY: "1" } } : {}),
    stdin: "pipe"
  }),
  protocol: (start) => new ScriptedProtocol(start)
})
