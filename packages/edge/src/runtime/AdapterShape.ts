/**
 * Check that an external value is an adapter of a supported version.
 *
 * Does not: run it. The conformance kit checks its events.
 */
import { CountedLimit } from "@corral/domain/run/Budget"
import { Continuation } from "@corral/domain/run/Continuation"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import type { StateFolder } from "@corral/domain/run/RuntimeFolders"
import { isStorableText, oneLine } from "@corral/domain/text/Text"
import { Result, Schema, SchemaIssue } from "effect"
import { isAbsolute } from "node:path"
import { EnvName } from "../config/EdgeConfig.ts"
import { hostEntryOf } from "../network/HostEntry.ts"
import { patternProblem } from "../confinement/StateFiles.ts"
import { isLexicallyInside } from "../workspace/PathText.ts"

const Callable = Schema.declare((value): value is (input: never) => unknown => typeof value === "function", {
  expected: "a function"
})
const Names = Schema.Array(Schema.String)
/** Part of a path: Node refuses one with U+0000. */
const Path = Schema.String.check(Schema.isMinLength(1), isStorableText)

const ProjectSettingsShape = Schema.Struct({
  files: Schema.Array(
    Schema.Struct({ path: Path, runs: Schema.String, unavoidable: Schema.optional(Schema.Boolean) })
  ),
  instructions: Schema.optional(Schema.Array(Path)),
  denyRules: Schema.optional(Schema.Struct({ files: Schema.Array(Path), read: Callable })),
  trust: Schema.optional(
    Schema.Struct({ homeVariable: Schema.String, defaultHome: Path, file: Path, trusts: Callable })
  )
})

/** Path in the home: relative, and not leading out of it. */
const HomePath = Path.check(Schema.makeFilter(isLexicallyInside, { expected: "a path inside the home" }))

/** Path in a state folder, and one with the parts of a pattern. */
const StatePath = Path.check(
  Schema.makeFilter((path) => !/[*{}]/.test(path) && patternProblem(path) === undefined, {
    expected: "a path of names in the folder"
  })
)
const Pattern = Path.check(
  Schema.makeFilter((pattern) => patternProblem(pattern) === undefined, {
    expected: "a pattern as in RuntimeFolders"
  })
)
const JsonPathShape = Schema.NonEmptyArray(Schema.String)

const StateShape = Schema.Struct({
  path: HomePath,
  variable: Schema.optional(EnvName),
  variableNames: Schema.optional(Schema.Literals(["folder", "parent"])),
  kind: Schema.optional(Schema.Literals(["folder", "file"])),
  perWorkspace: Schema.optional(Names),
  settings: Schema.optional(Schema.Array(Pattern)),
  copied: Schema.optional(
    Schema.Array(Schema.Struct({ path: StatePath, perWorkspace: Schema.optional(Names) }))
  ),
  credentials: Schema.optional(
    Schema.Array(
      Schema.Struct({
        path: StatePath,
        tokens: Schema.Array(
          Schema.Struct({
            values: Schema.NonEmptyArray(JsonPathShape),
            time: JsonPathShape,
            timeIs: Schema.optional(Schema.Literals(["expiry", "renewal"]))
          })
        )
      })
    )
  ),
  conversations: Schema.optional(
    Schema.Array(
      Schema.Struct({
        files: Schema.Array(Pattern),
        sessions: Schema.optional(Schema.Literals(["uuid", "token"])),
        workspace: Schema.optional(Schema.Struct({ file: Pattern, at: Schema.optional(JsonPathShape) }))
      })
    )
  ),
  database: Schema.optional(
    Schema.Struct({ folder: StatePath, variable: EnvName, file: Schema.optional(StatePath) })
  ),
  /** Of earlier adapters: names that no run may write. They are settings now. */
  executed: Schema.optional(Schema.Array(HomePath))
})

const FoldersShape = Schema.Struct({
  state: Schema.Array(StateShape),
  reads: Schema.optional(
    Schema.Array(Path.check(Schema.makeFilter(isAbsolute, { expected: "an absolute path" })))
  )
})

const Host = Schema.String.check(
  Schema.makeFilter((text) => hostEntryOf(text) !== undefined, {
    expected: "a host such as api.example.com"
  })
)

const KeyShape = Schema.Struct({
  variable: EnvName,
  headers: Schema.NonEmptyArray(Schema.Literals(["authorization", "x-api-key", "x-goog-api-key"])),
  hosts: Schema.Array(
    Host.check(Schema.makeFilter((text) => !text.startsWith("*."), { expected: "a host without a wildcard" }))
  ),
  addressVariable: Schema.optional(Schema.String),
  prefix: Schema.optional(Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,32}$/)))
})

const NetworkShape = Schema.Struct({
  hosts: Schema.Array(Host),
  addressVariables: Schema.optional(Names),
  isNodeClient: Schema.optional(Schema.Boolean),
  keys: Schema.optional(Schema.Array(KeyShape))
})

const AdapterShape = Schema.Struct({
  id: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/, {
      expected: "an id of letters, digits and . _ : -, at most 100 of them"
    })
  ),
  label: oneLine(100),
  capabilities: Schema.Struct({
    deltas: Schema.Boolean,
    approvals: Schema.Boolean,
    editInput: Schema.Boolean,
    resume: Schema.Boolean,
    readOnly: Schema.Boolean,
    cancel: Schema.Boolean,
    input: Schema.Boolean
  }),
  counts: Schema.optional(Schema.Array(CountedLimit)),
  reportsCost: Schema.optional(Schema.Boolean),
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
  projectSettings: Schema.optional(ProjectSettingsShape),
  folders: Schema.optional(FoldersShape),
  network: Schema.optional(NetworkShape),
  command: Callable,
  protocol: Callable
})
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Says what is wrong with a value from outside, as a clause. */
export const firstProblem = (schema: Schema.ConstraintDecoder<unknown>) => {
  const decode = Schema.decodeUnknownResult(schema)
  return (value: unknown): string | undefined => {
    const decoded = decode(value)
    if (Result.isSuccess(decoded)) return undefined
    const [issue] = format(decoded.failure.issue).issues
    const path = issue?.path?.join(".") ?? ""
    return `${path === "" ? "" : `${path}: `}${issue?.message ?? "unknown"}`
  }
}

const shapeProblem = firstProblem(AdapterShape)

const VERSIONS: ReadonlyArray<unknown> = [1, 2]
const PREFIX = "custom:"

/** The adapter that a module exports, with the id `custom:<id>`, or the reason why it is none. */
export const adapterOf = (value: unknown): Result.Result<AnyRuntimeAdapter, string> => {
  if (typeof value !== "object" || value === null)
    return Result.fail("it exports no adapter, neither as default nor as `adapter`")
  const version: unknown = Reflect.get(value, "specificationVersion")
  if (!VERSIONS.includes(version)) {
    const actual =
      typeof version === "number" || typeof version === "string"
        ? `its specificationVersion is ${JSON.stringify(version).slice(0, 40)}`
        : "it has no specificationVersion"
    return Result.fail(`${actual}, and this Edge loads adapters of the versions ${VERSIONS.join(" and ")}`)
  }
  const problem = shapeProblem(value)
  if (problem !== undefined) return Result.fail(`it is not an adapter: ${problem}`)
  const adapter = value as AnyRuntimeAdapter // its shape was checked above
  const { folders, id } = adapter
  return Result.succeed({
    ...adapter,
    ...(folders === undefined ? {} : { folders: { ...folders, state: folders.state.map(withSettings) } }),
    id: id.startsWith(PREFIX) ? id : PREFIX + id
  })
}

/** The folder, with what an earlier adapter protects in it as settings. */
const withSettings = ({
  executed = [],
  ...folder
}: StateFolder & { readonly executed?: ReadonlyArray<string> }): StateFolder => ({
  ...folder,
  ...(executed.length === 0
    ? {}
    : { settings: [...(folder.settings ?? []), ...executed.map((name) => name.replace(/\/$/, ""))] })
})
