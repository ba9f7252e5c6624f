/** Checks of what an adapter declares: its version, shape, probe, command and capabilities. They need no recording. */
import type { AdapterOutput, RunImage, RuntimeAdapter, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { CountedLimit } from "@corral/domain/run/Budget"
import { RunMode } from "@corral/domain/run/Run"
import type { Recording } from "./Replay.ts"
import { replay } from "./Replay.ts"
import { catching, type Finding, findingsOf, thrownMessage } from "./Rules.ts"

type OutputOf<Tag extends AdapterOutput["_tag"]> = Extract<AdapterOutput, { readonly _tag: Tag }>

const versions: ReadonlyArray<unknown> = [1, 2]
const capabilityNames = ["deltas", "approvals", "editInput", "resume", "readOnly", "cancel", "input"] as const

/** A start in each mode. */
export const startIn = (mode: RunMode): RunStart => ({
  prompt: "corral-conformance-prompt",
  mode,
  workspacePath: "/corral-conformance",
  projectSettings: "ignored",
  denyRules: []
})

const image: RunImage = {
  path: "/corral-conformance/image.png",
  mediaType: "image/png",
  base64: "Y29ycmFs"
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

const counted: ReadonlyArray<unknown> = CountedLimit.literals

const areCounts = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((each) => counted.includes(each)))

/** Problems of the declaration. Nothing else can be checked if there are any. */
export const declarationFindings = (adapter: RuntimeAdapter): ReadonlyArray<Finding> => {
  const value: Readonly<Record<string, unknown>> = Object(adapter)
  const version = value["specificationVersion"]
  if (!versions.includes(version))
    return findingsOf("specification-version", [`specificationVersion is ${String(version)}, not 1 or 2`])
  const capabilities: Readonly<Record<string, unknown>> = Object(value["capabilities"])
  const probe: Readonly<Record<string, unknown>> = Object(value["probe"])
  const shape = [
    ...(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/.test(String(value["id"])) ? [] : ["id is not an id"]),
    ...(isText(value["label"]) ? [] : ["label is empty"]),
    ...capabilityNames.flatMap((name) =>
      typeof capabilities[name] === "boolean" ? [] : [`capabilities.${name} is not a boolean`]
    ),
    ...(areCounts(value["counts"]) ? [] : ["counts is not a list of tokens, turns and cost"]),
    ...["command", "protocol"].flatMap((name) =>
      typeof value[name] === "function" ? [] : [`${name} is not a function`]
    )
  ]
  const probed = [
    ...(isText(probe["command"]) ? [] : ["probe.command is empty"]),
    ...(isTexts(probe["versionArgs"]) ? [] : ["probe.versionArgs is not a list of texts"]),
    ...(typeof probe["install"] === "string" ? [] : ["probe.install is not a text"])
  ]
  return [...findingsOf("shape", shape), ...findingsOf("probe", probed)]
}

const results = ["", "{", "null", '{"loggedIn":1}', "\u0000", "{}".repeat(1_000)].flatMap((text) =>
  [0, 1, null].map((code) => ({ code, stdout: text, stderr: text }))
)

export const probeFindings = ({ probe }: RuntimeAdapter): ReadonlyArray<Finding> =>
  catching("probe", "signedIn.read", () =>
    findingsOf(
      "probe",
      results.flatMap((result) => {
        const signedIn = probe.signedIn?.read(result)
        return signedIn === undefined || typeof signedIn === "boolean"
          ? []
          : ["signedIn.read returns no boolean"]
      })
    ).slice(0, 1)
  )

const isStdin = (value: unknown): boolean => value === "ignore" || value === "once" || value === "pipe"

export const commandFindings = (adapter: RuntimeAdapter): ReadonlyArray<Finding> =>
  RunMode.literals.flatMap((mode) =>
    catching("command", mode, () => {
      const { args, env = {}, file, stdin } = adapter.command(startIn(mode))
      const hasTexts =
        Array.isArray(args) && [...args, ...Object.values(env)].every((each) => typeof each === "string")
      return findingsOf("command", [
        ...(isText(file) ? [] : [`${mode}: file is empty`]),
        ...(hasTexts ? [] : [`${mode}: an argument or a variable is not a text`]),
        ...(isStdin(stdin) ? [] : [`${mode}: stdin is ${String(stdin)}`])
      ])
    })
  )

const SECRET = "corral-conformance-variable-71c3"

const isPassed = ({ passEnv = [] }: RuntimeAdapter, variable: string): boolean =>
  passEnv.some((name) => (name.endsWith("*") ? variable.startsWith(name.slice(0, -1)) : name === variable))

/** Keys that the runtime never receives. */
export const keyFindings = (adapter: RuntimeAdapter): ReadonlyArray<Finding> =>
  catching("keys", "network.keys", () =>
    findingsOf(
      "keys",
      (adapter.network?.keys ?? []).flatMap(({ headers, variable }) => [
        ...(isPassed(adapter, variable) ? [] : [`passEnv does not pass ${variable}`]),
        ...(headers.length > 0 ? [] : [`${variable} has no header`])
      ])
    )
  )

/** An adapter that copies `process.env` gives the Edge's secrets to the runtime. */
export const environmentFindings = (adapter: RuntimeAdapter): ReadonlyArray<Finding> => {
  process.env[SECRET] = SECRET
  try {
    const start = startIn("full_access")
    const received = JSON.stringify([adapter.command(start), adapter.protocol(start).open])
    const patterns = (adapter.passEnv ?? []).filter((name) => name === "*" || name.startsWith("CORRAL"))
    return findingsOf("environment", [
      ...(received.includes(SECRET) ? ["a variable of the own process is copied into the command"] : []),
      ...patterns.map((name) => `passEnv has ${name}`)
    ])
  } catch (cause) {
    return [{ rule: "throws", message: `command or protocol: it throws ${thrownMessage(cause)}` }]
  } finally {
    delete process.env[SECRET]
  }
}

/** What a program receives: its command line, and all that the protocol says while a recording is read. */
const programInput = (
  adapter: RuntimeAdapter,
  start: RunStart,
  recordings: ReadonlyArray<Recording>
): string =>
  JSON.stringify([
    adapter.command(start),
    adapter.protocol(start).open,
    recordings.map((recording) =>
      replay(adapter, { ...recording, start: { ...recording.start, ...start } }, [recording.stdout]).flatMap(
        (output) => (output._tag === "Reply" ? [output.text] : [])
      )
    )
  ])

/** Capabilities that are claimed and missing, or there and not claimed. */
export const capabilityFindings = (
  adapter: RuntimeAdapter,
  recordings: ReadonlyArray<Recording>
): ReadonlyArray<Finding> =>
  catching("throws", "capabilities", () => {
    const { approvals, cancel, deltas, input, readOnly, resume } = adapter.capabilities
    const { counts = [] } = adapter
    const ask = startIn("ask")
    const inputIn = (mode: RunMode, more: Partial<RunStart> = {}) =>
      programInput(adapter, { ...startIn(mode), ...more }, recordings)
    const outputs = recordings.flatMap((recording) => replay(adapter, recording, [recording.stdout]))
    const has = (type: string) =>
      outputs.some((output) => output._tag === "Event" && output.event.type === type)
    const isCounted = (limit: CountedLimit) =>
      outputs.some((output) => output._tag === "Usage" && usedOf(limit, output) > 0)
    const usesImages = inputIn("ask") !== inputIn("ask", { images: [image] })
    const listens = adapter.command(ask).stdin === "pipe"
    const claims: ReadonlyArray<readonly [boolean, string]> = [
      [approvals && !listens, "approvals is claimed, but stdin is not open for an answer"],
      [!deltas && has("run.message.delta"), "deltas is not claimed, but there are deltas"],
      [
        deltas && has("run.message.completed") && !has("run.message.delta"),
        "deltas is claimed, but no recording has one"
      ],
      [input && !listens, "input is claimed, but stdin is not open for it"],
      [cancel && !listens, "cancel is claimed, but stdin is not open for it"],
      [
        resume && inputIn("ask") === inputIn("ask", { resumeSessionId: "corral-conformance-session" }),
        "resume is claimed, but the session of a run to resume is not used"
      ],
      [
        adapter.continuation !== undefined && !resume,
        "continuation says what a resumed run may change, but resume is not claimed"
      ],
      [
        adapter.images === "native" && !usesImages,
        "images is native, but an image of the message is not used"
      ],
      [
        adapter.images !== "native" && usesImages,
        "an image of the message is used, but images is not native"
      ],
      [
        readOnly && !approvals && inputIn("read_only") === inputIn("full_access"),
        "readOnly is claimed, but the program starts as with full access"
      ],
      ...counts.map(
        (limit) =>
          [!isCounted(limit), `counts has ${limit}, but no recording reports them while it works`] as const
      ),
      [
        input && !recordings.some((recording) => acceptsDuring(adapter, recording, "input")),
        "input is claimed, but no message is accepted"
      ],
      [
        cancel && !recordings.some((recording) => acceptsDuring(adapter, recording, "cancel")),
        "cancel is claimed, but there is no cancel message"
      ]
    ]
    return findingsOf(
      "capabilities",
      claims.flatMap(([isWrong, message]) => (isWrong ? [message] : []))
    )
  })

const usedOf = (limit: CountedLimit, { calls = [], usage }: OutputOf<"Usage">): number => {
  const { costUsd = 0, inputTokens = 0, outputTokens = 0, turns = 0 } = usage
  switch (limit) {
    case "turns":
      return turns
    case "tokens":
      return inputTokens + outputTokens
    case "cost":
      return costUsd + calls.length
  }
}

/** Whether the protocol has a text for a message or a cancel at the start, or after any tenth of a recording. */
const acceptsDuring = (
  adapter: RuntimeAdapter,
  { start, stdout }: Recording,
  what: "input" | "cancel"
): boolean =>
  Array.from({ length: 10 }, (_, tenth) => Math.floor((stdout.length * tenth) / 10)).some((at) => {
    const protocol = adapter.protocol(start)
    protocol.step(stdout.slice(0, at))
    return (what === "input" ? protocol.input("corral-conformance-message") : protocol.cancel()) !== undefined
  })
