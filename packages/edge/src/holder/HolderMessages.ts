/**
 * JSON payloads of the frames, and their validation by the holder. Plain code without Effect and Schema, which would triple the holder's
 * memory and its time to start.
 */

/** First frame of a control connection. */
export interface HolderHello {
  readonly format: number
  /** Content of the key file. Programs of confined runs may reach the socket, and cannot read the key. */
  readonly key: string
  /** Milliseconds without a control connection after which the holder ends all runs. */
  readonly orphanMs: number
  /** Version of the Edge. */
  readonly build: string
}

/** A run of a holder. */
export interface HeldRunSummary {
  readonly id: string
  /** Unix time in milliseconds; absent if the program was not started. */
  readonly startedAt?: number | undefined
  readonly pid?: number | undefined
  /** Its control group. */
  readonly group?: string | undefined
  readonly hasEnded: boolean
}

/** Answer to `hello`. A holder of another format gives no runs. */
export interface HolderWelcome {
  readonly format: number
  readonly build: string
  readonly pid: number
  readonly runs: ReadonlyArray<HeldRunSummary>
}

/** First frame on the connection of a run. */
export interface HeldOpen {
  readonly run: string
  readonly key: string
  /** Folder of control groups, of a new run that starts at once. */
  readonly groups?: string | undefined
}

/** Times at which the holder ends the run if no Edge is connected, in unix milliseconds. */
export interface HeldUntil {
  readonly wall?: number | undefined
  readonly cap?: number | undefined
  readonly background?: number | undefined
  /**
   * Bytes of output that the Edge had applied when it set `background`. That time does not count for a program that has printed more: it may have
   * started a further turn, which only an Edge can see.
   */
  readonly applied?: number | undefined
}

export interface HeldStart {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: "ignore" | "once" | "pipe"
  readonly isConfined: boolean
  /** Whether descriptor 3 of the program is carried over `control` frames. */
  readonly hasControl: boolean
  /** The control group that the program enters. The holder kills and removes it when it ends the run. */
  readonly group?: string | undefined
  /** The mark of the run's processes: `NAME=value` in the environment. */
  readonly mark: string
  /** Maximum number of bytes of stdout that are stored. */
  readonly maxBytes: number
  readonly until: HeldUntil
}

/** Where the Edge reads output from. */
export interface HeldRead {
  readonly from: number
  /** Bytes that may be sent and not processed; without it, the socket is the limit. */
  readonly window?: number | undefined
}

/** The Edge has processed all output before `from`. */
export type HeldProcessed = Pick<HeldRead, "from">

export interface HeldExit {
  readonly code: number | null
  readonly signal: string | null
}

/** Why the holder ended a run without an Edge. `output`: the output was no longer whole, so no Edge could have continued the run. */
export type HeldEnder = "wall" | "cap" | "background" | "output"

export interface HeldEnd extends HeldExit {
  readonly stderr: string
  readonly by?: HeldEnder | undefined
}

export interface HeldStarted {
  readonly pid: number
  /** Clock ticks from the boot to the start of the process; 0 if unknown. */
  readonly startTicks: number
}

export interface HeldSpawnError {
  readonly code?: string | undefined
  readonly message: string
}

/** State of a run when a connection opens it. */
export interface OpenedRun {
  /** Whether the run did not exist before. */
  readonly isNew: boolean
  /** Bytes of the blob that follows. */
  readonly keepBytes: number
  /** The control group of the run, which its program starts in. Without it, the program enters the group of its `start`. */
  readonly group?: string | undefined
  readonly started?: HeldStarted | undefined
  readonly spawnError?: HeldSpawnError | undefined
  /** Bytes of stdin that the holder has accepted. They reach the program once. */
  readonly stdinBytes: number
  readonly isInputClosed: boolean
  /** Bytes that the program has printed, as far as they were read. */
  readonly outputBytes: number
  /** Whether all output can be read from its beginning. */
  readonly isWhole: boolean
  /** Private keys that an Edge kept, by the ids of their questions. Absent in a holder of an earlier version, which keeps none. */
  readonly keys?: Readonly<Record<string, string>> | undefined
  /** Whether the holder accepts `window` and `processed`. Absent in a holder of an earlier version. */
  readonly hasWindow?: boolean | undefined
  /** The program has exited. */
  readonly exit?: HeldExit | undefined
  /** The program has exited, and all its output was read from the pipe. */
  readonly end?: HeldEnd | undefined
}

type Fields = Readonly<Record<string, unknown>>

/** The object in a payload; `undefined` if it is none. */
export const fieldsOf = (payload: Buffer): Fields | undefined => {
  try {
    const value: unknown = JSON.parse(payload.toString("utf8"))
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Fields)
      : undefined
  } catch {
    return undefined
  }
}

const isText = (value: unknown): value is string => typeof value === "string"
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const isOptionalCount = (value: unknown): value is number | undefined => value === undefined || isCount(value)

/** Names of runs are names of files. */
const RUN_NAME = /^[A-Za-z0-9_-]{1,64}$/

export const helloIn = (fields: Fields | undefined): Omit<HolderHello, "key"> | undefined => {
  const { build, format, orphanMs } = fields ?? {}
  return isCount(format) && isCount(orphanMs) && isText(build) ? { format, orphanMs, build } : undefined
}

export const runNameIn = (fields: Fields | undefined): string | undefined => {
  const run = fields?.run
  return isText(run) && RUN_NAME.test(run) ? run : undefined
}

export const groupsFolderIn = (fields: Fields | undefined): string | undefined => {
  const groups = fields?.groups
  return isText(groups) ? groups : undefined
}

export const positionIn = (fields: Fields | undefined): number | undefined => {
  const from = fields?.from
  return isCount(from) ? from : undefined
}

export const untilIn = (value: unknown): HeldUntil | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const { applied, background, cap, wall } = value as HeldUntil
  return [applied, background, cap, wall].every(isOptionalCount)
    ? { applied, background, cap, wall }
    : undefined
}

/** How many bytes of output may be on their way; `undefined` for an Edge of an earlier version, which reports nothing as processed. */
export const windowIn = (fields: Fields | undefined): number | undefined => {
  const window = fields?.window
  return isCount(window) && window > 0 ? window : undefined
}

/** A private key of a question, with the question's id. */
export const keptKeyIn = (fields: Fields | undefined): readonly [id: string, key: string] | undefined => {
  const { id, key } = fields ?? {}
  return isText(id) && isText(key) ? [id, key] : undefined
}

const variablesIn = (value: unknown): Readonly<Record<string, string>> | undefined =>
  typeof value === "object" && value !== null && Object.values(value).every(isText)
    ? (value as Readonly<Record<string, string>>)
    : undefined

export const heldStartIn = (fields: Fields | undefined): HeldStart | undefined => {
  const { args, cwd, env, file, group, hasControl, isConfined, mark, maxBytes, stdin, until } = fields ?? {}
  const [variables, times] = [variablesIn(env), untilIn(until)]
  if (!isText(file) || !isText(cwd) || !isText(mark) || !isCount(maxBytes)) return undefined
  if (!Array.isArray(args) || !args.every(isText)) return undefined
  if (variables === undefined || times === undefined) return undefined
  if (stdin !== "ignore" && stdin !== "once" && stdin !== "pipe") return undefined
  if (group !== undefined && !isText(group)) return undefined
  return {
    file,
    args,
    cwd,
    env: variables,
    stdin,
    isConfined: isConfined === true,
    hasControl: hasControl === true,
    group,
    mark,
    maxBytes,
    until: times
  }
}
