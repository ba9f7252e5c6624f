/**
 * Check that an external value is an adapter of this version.
 *
 * Does not: run it. The conformance kit checks its events.
 */
import { Continuation } from "@corral/domain/run/Continuation"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Result, Schema, SchemaIssue } from "effect"

const Callable = Schema.declare((value): value is (input: never) => unknown => typeof value === "function", {
  expected: "a function"
})
const Names = Schema.Array(Schema.String)

const AdapterShape = Schema.Struct({
  id: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, {
      expected: "an id of letters, digits and . _ : -, at most 100 of them"
    })
  ),
  label: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)),
  capabilities: Schema.Struct({
    deltas: Schema.Boolean,
    approvals: Schema.Boolean,
    editInput: Schema.Boolean,
    resume: Schema.Boolean,
    readOnly: Schema.Boolean,
    cancel: Schema.Boolean,
    input: Schema.Boolean
  }),
  continuation: Schema.optional(Continuation),
  images: Schema.optional(Schema.Literals(["native", "path"])),
  probe: Schema.Struct({
    command: Schema.String.check(Schema.isMinLength(1)),
    versionArgs: Names,
    install: Schema.String,
    signIn: Schema.optional(Schema.String),
    signedIn: Schema.optional(Schema.Struct({ args: Names, read: Callable }))
  }),
  passEnv: Schema.optional(Names),
  command: Callable,
  protocol: Callable
})
const decode = Schema.decodeUnknownResult(AdapterShape)
const format = SchemaIssue.makeFormatterStandardSchemaV1()

const VERSION = 1
const PREFIX = "custom:"

/** The adapter that a module exports, with the id `custom:<id>`, or the reason why it is none. */
export const adapterOf = (value: unknown): Result.Result<AnyRuntimeAdapter, string> => {
  if (typeof value !== "object" || value === null)
    return Result.fail("it exports no adapter, neither as default nor as `adapter`")
  const version: unknown = Reflect.get(value, "specificationVersion")
  if (version !== VERSION) {
    const actual = typeof version === "number" || typeof version === "string" ? version : "no version"
    return Result.fail(
      `its specificationVersion is ${actual}, and this Edge loads adapters of version ${VERSION}`
    )
  }
  const decoded = decode(value)
  if (Result.isFailure(decoded)) {
    const [issue] = format(decoded.failure.issue).issues
    const path = issue?.path?.join(".") ?? ""
    return Result.fail(
      `it is not an adapter: ${path === "" ? "" : `${path}: `}${issue?.message ?? "unknown"}`
    )
  }
  const adapter = value as AnyRuntimeAdapter // its shape was checked above
  const { id } = adapter
  return Result.succeed({ ...adapter, id: id.startsWith(PREFIX) ? id : PREFIX + id })
}
