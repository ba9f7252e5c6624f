/**
 * Schema of the outputs of an adapter, for values from outside: adapters of other people's packages, and the conformance kit.
 *
 * Does not: check the order of outputs. The run machine and the kit do.
 */
import { firstCharacters } from "../text/Cut.ts"
import { Result, Schema, SchemaIssue } from "effect"
import { ApprovalRequest } from "../approval/Approval.ts"
import { RequestedInput } from "../input/InputRequest.ts"
import { RunFailure, Usage } from "./Run.ts"
import { isTerminalType } from "./RunEnd.ts"
import { type EventType, eventTypes, payloads } from "./RunEvent.ts"
import type { AdapterOutput } from "./RuntimeAdapter.ts"
import { WorkKind } from "./Work.ts"

/** Events that the Edge writes itself. */
const isReserved = (type: EventType): boolean =>
  isTerminalType(type) ||
  type === "run.created" ||
  type === "run.paused" ||
  type === "run.resumed" ||
  type === "run.usage.updated" ||
  type === "run.protected.changed" ||
  type === "run.repository.changed" ||
  type === "run.changes.unknown" ||
  /^(?:run\.(?:approval|input|work|turn)|integration|identity)\./.test(type)

/** Types of the events that an adapter can emit. */
export const adapterEventTypes: ReadonlyArray<EventType> = eventTypes.filter((type) => !isReserved(type))

const usage = Schema.optionalKey(Usage)
const optionalText = Schema.optionalKey(Schema.String)

const OutcomeSchema = Schema.Union([
  Schema.TaggedStruct("Completed", { text: optionalText, usage }),
  Schema.TaggedStruct("Failed", { error: RunFailure, usage }),
  Schema.TaggedStruct("Cancelled", { reason: optionalText, usage })
])

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const optionalCount = Schema.optionalKey(count)

const ModelCallSchema = Schema.Struct({
  model: optionalText,
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: optionalCount,
  cacheWriteTokens: optionalCount,
  longCacheWriteTokens: optionalCount,
  count: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))
})

const schemas = {
  Event: Schema.Struct({ type: Schema.Literals(adapterEventTypes), payload: Schema.Unknown }),
  Approval: Schema.Struct({ key: Schema.String, request: ApprovalRequest }),
  ApprovalWithdrawn: Schema.Struct({ key: Schema.String, reason: Schema.String }),
  InputRequested: Schema.Struct({ key: Schema.String, request: RequestedInput }),
  InputWithdrawn: Schema.Struct({
    key: Schema.String,
    state: Schema.Literals(["withdrawn", "self_answered"])
  }),
  Work: Schema.Struct({
    id: Schema.String,
    kind: WorkKind,
    title: Schema.String,
    parentCallId: optionalText,
    state: Schema.Literals(["running", "completed", "failed", "stopped"]),
    continues: Schema.optionalKey(Schema.Boolean)
  }),
  TurnStarted: Schema.Struct({
    by: Schema.optionalKey(Schema.Literal("message")),
    ended: Schema.optionalKey(OutcomeSchema)
  }),
  Artifact: Schema.Struct({
    name: Schema.String,
    mediaType: Schema.String,
    content: Schema.Union([Schema.String, Schema.Uint8Array]),
    callId: optionalText
  }),
  Reply: Schema.Struct({ text: Schema.String }),
  Usage: Schema.Struct({
    usage: Usage,
    calls: Schema.optionalKey(Schema.Array(ModelCallSchema)),
    subscription: Schema.optionalKey(Schema.Boolean)
  }),
  Outcome: Schema.Struct({ outcome: OutcomeSchema }),
  Unknown: Schema.Struct({ what: Schema.String, raw: optionalText })
} satisfies Record<AdapterOutput["_tag"], Schema.Top>

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const problemWith = (schema: Schema.ConstraintDecoder<unknown>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: unknown): string | undefined => {
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return undefined
    const [issue] = format(decoded.failure.issue).issues
    const path = issue?.path?.join(".") ?? ""
    return `${path === "" ? "" : `${path}: `}${issue?.message ?? "it does not fit"}`
  }
}

type Problem = (value: unknown) => string | undefined
const problems = new Map<string, Problem>(
  Object.entries(schemas).map(([tag, schema]) => [tag, problemWith(schema)])
)
const payloadProblems = new Map<string, Problem>()
const payloadProblem = (type: EventType): Problem => {
  const cached = payloadProblems.get(type)
  if (cached !== undefined) return cached
  const problem = problemWith(Schema.Struct(payloads[type]))
  payloadProblems.set(type, problem)
  return problem
}

/** Without fields that are `undefined`: an event is JSON, which has none. */
const present = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(present)
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, present(inner)]]))
  )
}

/** What is wrong with an output, as a clause; `undefined` if it is one of the specification. */
export const outputProblem = (value: unknown): string | undefined => {
  if (typeof value !== "object" || value === null) return "an output is not an object"
  const tag: unknown = Reflect.get(value, "_tag")
  const check = typeof tag === "string" ? problems.get(tag) : undefined
  if (check === undefined) return `an output has the tag ${firstCharacters(String(tag), 40)}`
  const output = present(value)
  if (tag !== "Event") return named(String(tag), check(output))
  const event: unknown = Reflect.get(Object(output), "event")
  if (check(event) !== undefined) {
    const type: unknown = Reflect.get(Object(event), "type")
    return `no adapter emits events of the type ${firstCharacters(String(type), 40)}`
  }
  const { payload, type } = event as { readonly type: EventType; readonly payload: unknown } // as the schema of `Event` checked
  return named(type, payloadProblem(type)(payload))
}

const named = (what: string, problem: string | undefined): string | undefined =>
  problem === undefined ? undefined : `${what}: ${problem}`
