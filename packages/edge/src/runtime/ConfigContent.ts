/**
 * JSON file of profiles and runners as this Edge reads it: its status, who can write it, and its entries. Used by the configuration file and by the
 * file of managed presets.
 *
 * Guarantees: a problem names the file, a path and an expectation, without the content.
 */
import { Data, Result, Schema, SchemaIssue } from "effect"
import { type BigIntStats, readFileSync, statSync } from "node:fs"

export class ConfigFileInvalid extends Data.TaggedError("ConfigFileInvalid")<{
  readonly message: string
  /** Absent where several places do not fit together. */
  readonly file?: string | undefined
}> {}

/** Path of an invalid value in a configuration, with the reason. */
export interface ConfigProblem {
  readonly path: string
  readonly message: string
}

/** Status of the file; `undefined` without one, or the reason why it cannot be read. */
export const lookAt = (file: string): BigIntStats | string | undefined => {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return "it cannot be reached"
  }
}

export const fingerprint = (status: BigIntStats | string | undefined): string | undefined =>
  typeof status === "object"
    ? [status.ino, status.size, status.mode, status.uid, status.mtimeNs, status.ctimeNs].join(" ")
    : status

export const MAX_BYTES = 1_048_576n

/** The file names programs to run, so users who can write it can run programs as the Edge. */
const unsafe = (stat: BigIntStats): string | undefined => {
  if (!stat.isFile()) return "it is no file"
  if (stat.size > MAX_BYTES) return "it is larger than 1 MiB"
  if ((stat.mode & 0o022n) !== 0n) return "others can write it; chmod it to 600"
  const ours = process.getuid === undefined || stat.uid === BigInt(process.getuid()) || stat.uid === 0n
  return ours ? undefined : "it belongs to another user"
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "UnexpectedKey") return "Not a field of this object"
    return issue._tag === "MissingKey" ? "Required" : SchemaIssue.defaultLeafHook(issue)
  }
})

/** Decoder that refuses other fields. The problems contain paths and expectations, without the content. */
export const strictDecoder = <A>(schema: Schema.ConstraintDecoder<A>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (value: unknown): Result.Result<A, ReadonlyArray<ConfigProblem>> =>
    Result.mapError(decode(value), ({ issue }) =>
      format(issue).issues.map(({ path = [], message }) => ({ path: path.join("."), message }))
    )
}

export const refusal = (file: string | undefined, reason: string) =>
  Result.fail(new ConfigFileInvalid({ file, message: `${file} is not usable: ${reason}.` }))

/** The entries of a file with a status; those of an empty object without a file. */
export const readEntries = <A>(
  decode: ReturnType<typeof strictDecoder<A>>,
  file: string | undefined,
  status: BigIntStats | string | undefined
): Result.Result<A, ConfigFileInvalid> => {
  if (typeof status === "string") return refusal(file, status)
  const reason = status === undefined ? undefined : unsafe(status)
  if (reason !== undefined) return refusal(file, reason)
  let value: unknown = {}
  try {
    if (file !== undefined && status !== undefined) value = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    return refusal(file, error instanceof SyntaxError ? "it is not JSON" : "it cannot be read")
  }
  const decoded = decode(value)
  return Result.isSuccess(decoded)
    ? Result.succeed(decoded.success)
    : refusal(file, sentence(decoded.failure))
}

/** Problem with paths and expectations, without the content. */
export const sentence = (problems: ReadonlyArray<ConfigProblem>): string => {
  const [first = { path: "", message: "it does not fit" }, ...more] = problems
  const text = first.path === "" ? first.message : `${first.path}: ${first.message}`
  return more.length === 0 ? text : `${text} (and ${more.length} more)`
}
