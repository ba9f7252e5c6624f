/**
 * Texts of `corral doctor`, `corral doctor --upgrade` and `corral hub doctor`: one line per finding, with a mark before it and a hint after it,
 * and a heading per part of the database.
 */
import type {
  ConfinementReadiness,
  HealthProblem,
  LayerReadiness,
  LinkReadiness
} from "@corral/domain/http/Health"
import { isReady } from "@corral/domain/offer/Offer"
import type { HolderFound } from "@corral/edge/holder/HolderControl"
import type { DatabaseFinding } from "@corral/hub/inspection/Findings"
import type { InspectedPart } from "@corral/hub/inspection/Inspection"
import type { Paint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { AgentStatus, Diagnosis, RunnerStatus } from "./Diagnosis.ts"
import type { HubStatus } from "./HubHealth.ts"

/** Marks and hints of a report, with or without colours. */
interface ReportStyle {
  readonly paint: Paint
  readonly mark: (isGood: boolean) => string
  /** Mark of something that is missing but not required. */
  readonly optional: string
  /** Dimmed hint with a leading space. Empty if all parts are undefined. */
  readonly hint: (...parts: ReadonlyArray<string | undefined>) => string
}

const styleOf = (paint: Paint): ReportStyle => ({
  paint,
  mark: (isGood) => (isGood ? paint("green", "✓") : paint("red", "✗")),
  optional: paint("yellow", "–"),
  hint: (...parts) => {
    const text = parts.filter((part) => part !== undefined).join(": ")
    return text === "" ? "" : ` ${paint("dim", escapeLine(text))}`
  }
})

const headings: Readonly<Record<InspectedPart["part"], string>> = {
  server: "Server",
  schema: "Schema",
  replication: "Replication",
  statements: "Statements",
  tables: "Tables"
}

const lineOf = (style: ReportStyle, { hint, message, state }: DatabaseFinding): string => {
  const mark = state === "unknown" ? style.optional : style.mark(state === "good")
  return `  ${mark} ${escapeLine(message)}${style.hint(hint)}\n`
}

/**
 * Text of `corral hub doctor`: a heading per part of the database, and one line per finding with a mark before it and a hint after it. The last
 * line ends with a newline.
 */
export const formatInspection = (parts: ReadonlyArray<InspectedPart>, paint: Paint): string => {
  const style = styleOf(paint)
  return parts
    .filter(({ findings }) => findings.length > 0)
    .map(
      ({ findings, part }) =>
        `${headings[part]}\n${findings.map((finding) => lineOf(style, finding)).join("")}`
    )
    .join("")
}

const countOf = (runs: number): string => (runs === 1 ? "1 live run" : `${runs} live runs`)

/** Text of `corral doctor --upgrade`: whether the live runs of this home continue under this version. */
export const formatUpgrade = (found: HolderFound | undefined, version: string): string => {
  if (found === undefined || found.runs === 0)
    return `No run is live. Corral ${version} can be started instead of a running one.\n`
  const { build, isCompatible, runs } = found
  return isCompatible
    ? `${countOf(runs)} of Corral ${build} ${runs === 1 ? "continues" : "continue"} under Corral ${version}. Stop the running Corral, then start this one.\n`
    : `Corral ${version} cannot continue ${countOf(runs)} of Corral ${build}. Let ${runs === 1 ? "it" : "them"} end, or cancel ${runs === 1 ? "it" : "them"}, before you start this version.\n`
}

type Lines = ReadonlyArray<string>

const MAX_DRIFT_KINDS = 5

const hubStates = {
  ok: "ready",
  degraded: "ready, with problems",
  not_ready: "not ready",
  unreachable: "can't be reached"
} as const

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

const gigabytes = (bytes: number): string =>
  bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

/** A hint is a sentence: what is before it must end as one. */
const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const problemLine = ({ hint, mark }: ReportStyle, problem: HealthProblem): string =>
  `  ${mark(false)} ${asSentence(escapeLine(problem.message))}${hint(problem.hint)}`

const linkLine = (style: ReportStyle, { deviceId, hub, problem, state }: LinkReadiness): string => {
  const { hint, mark, optional } = style
  const linkMark = state === "linked" ? mark(true) : state === "refused" ? mark(false) : optional
  const device = deviceId === undefined ? "" : ` as ${deviceId}`
  return `${linkMark} Hub ${escapeLine(hub ?? "(unknown URL)")}: ${state}${device}${hint(problem)}`
}

const edgeLines = (style: ReportStyle, edge: Diagnosis["edge"]): Lines => {
  const { hint, mark, optional } = style
  if (!edge.running)
    return [
      `${edge.problem === undefined ? optional : mark(false)} ${escapeLine(edge.reason)}`,
      ...(edge.store === undefined ? [] : [`${mark(false)} Store${hint(edge.store)}`])
    ]
  const { link, problems, queued, runs, status, store, url, version, workspaces } = edge
  const waiting = queued === 0 ? "" : ` and ${queued} waiting`
  return [
    `${mark(status === "ok")} Edge ${version} at ${url}: ${count(runs, "run")}${waiting}, ${count(workspaces, "workspace")}, store ${escapeLine(store)}`,
    ...problems
      .filter(({ part }) => part === "store" || part === "runtime_state")
      .map((problem) => problemLine(style, problem)),
    ...(link === undefined || link.state === "none" ? [] : [linkLine(style, link)])
  ]
}

const hubLines = (style: ReportStyle, hub: HubStatus | undefined): Lines =>
  hub === undefined
    ? []
    : [
        `${style.mark(hub.state === "ok")} Hub at ${escapeLine(hub.url)}: ${hubStates[hub.state]}${style.hint(hub.hint)}`,
        ...hub.problems.map((problem) => problemLine(style, problem))
      ]

const OFF_HINT =
  "Runs have the rights of your user. Start the Edge without CORRAL_EDGE_CONFINEMENT=off to confine them."

const confinementLine = (style: ReportStyle, confinement: ConfinementReadiness): string => {
  const { hint, mark, optional } = style
  const { hint: remedy, kind, network, problem, setting } = confinement
  if (setting === "off") return `${optional} Confinement off.${hint(OFF_HINT)}`
  if (problem === undefined) return `${mark(true)} Confinement ${kind}, the network is ${network}`
  const limits = kind === "none" ? kind : `${kind}, the network is ${network}`
  return `${setting === "required" ? mark(false) : optional} Confinement ${limits}.${hint([problem, remedy].join(" ").trimEnd())}`
}

const meansTexts: Readonly<Record<LayerReadiness["means"], string>> = {
  overlayfs: "overlays",
  reflink: "copies that share blocks",
  copy: "copies"
}

const layerLine = ({ hint, mark, optional }: ReportStyle, layers: LayerReadiness): string => {
  const { enforced, hint: remedy, means, problem } = layers
  if (!enforced)
    return `${optional} Layers off.${hint("Isolation in layers needs runs that bubblewrap confines.")}`
  const text = `Layers by ${meansTexts[means]}`
  return problem === undefined
    ? `${mark(true)} ${text}`
    : `${optional} ${text}.${hint([problem, remedy].join(" ").trimEnd())}`
}

const machineLines = (style: ReportStyle, diagnosis: Diagnosis): Lines => {
  const { hint, mark, optional } = style
  const { config, confinement, containment, disk, git, home, layers } = diagnosis
  return [
    `${mark(home.files.every((file) => file.ok))} Home ${home.path}`,
    ...home.files.map((file) => `    ${file.mode} ${file.name}${file.ok ? "" : hint(file.hint)}`),
    ...(disk === undefined
      ? []
      : [
          `${mark(disk.ok)} Disk ${gigabytes(disk.freeBytes)} free${disk.ok ? "" : `.${hint("Free disk space: an Edge needs 100 MB.")}`}`
        ]),
    `${git.found ? mark(true) : optional} git${git.version === undefined ? "" : ` ${git.version}`}${git.found ? "" : hint("not on PATH")}`,
    `${mark(true)} Containment ${containment}`,
    ...(confinement === undefined ? [] : [confinementLine(style, confinement)]),
    ...(layers === undefined ? [] : [layerLine(style, layers)]),
    ...(config?.problem === undefined ? [] : [`${mark(false)} Configuration${hint(config.problem)}`]),
    ...diagnosis.adapterProblems.map((problem) => `${mark(false)} Adapter${hint(problem)}`)
  ]
}

const driftLines = ({ hint, optional }: ReportStyle, { drift }: AgentStatus): Lines => {
  if (drift === undefined) return []
  const versions = drift.versionsSeen.join(", ") || "an unknown version"
  const kinds = drift.kinds.slice(0, MAX_DRIFT_KINDS).map((kind) => `${kind.what} ×${kind.count}`)
  return [
    `    ${optional} ${count(drift.unknown, "unrecognized output")}, seen with ${versions}${hint(kinds.join(", "))}`
  ]
}

/** What a program lacks, where no hint says it. None of the programs is required. */
const lacks: Readonly<Record<string, string>> = {
  command_missing: "not installed",
  not_signed_in: "not signed in",
  no_answer: "no answer"
}

/** Reasons whose hint says what is missing. The hint about a sign-in only says what to run. */
const saidByHint: ReadonlySet<string> = new Set(["command_missing", "no_answer"])

/** What follows the id of a program: its name and what it lacks, each once. `details` belong to the name. */
const programText = (
  { hint }: ReportStyle,
  program: Pick<AgentStatus, "label" | "reason" | "hint">,
  details = ""
): string => {
  const { hint: advice, label, reason } = program
  const name = `${label}${details}`
  if (reason === undefined) return `${name}${hint(advice)}`
  const lack = lacks[reason] ?? reason
  if (advice === undefined || !saidByHint.has(reason)) return `${name}${hint(lack, advice)}`
  return advice.includes(label) && details === "" ? hint(advice).trimStart() : `${name}.${hint(advice)}`
}

const agentLines = (style: ReportStyle, width: number, agent: AgentStatus): Lines => {
  const { mark, optional, paint } = style
  const version = agent.version === undefined ? "" : ` ${agent.version}`
  const path = agent.path === undefined ? "" : ` ${paint("dim", agent.path)}`
  const signedIn = agent.signedIn === true ? ", signed in" : ""
  return [
    `  ${isReady(agent) ? mark(true) : optional} ${agent.id.padEnd(width)} ${programText(style, agent, `${version}${path}${signedIn}`)}`,
    ...driftLines(style, agent)
  ]
}

const runnerLine = (style: ReportStyle, width: number, runner: RunnerStatus): string =>
  `  ${runner.available ? style.mark(true) : style.optional} ${runner.id.padEnd(width)} ${
    runner.available ? `${runner.label}${style.hint(runner.command.join(" "))}` : programText(style, runner)
  }`

const programLines = (style: ReportStyle, { agents, runners }: Diagnosis): Lines => {
  const width = Math.max(12, ...[...agents, ...runners].map(({ id }) => id.length))
  const adapters = agents.filter(({ id, runtime }) => id === runtime)
  const profiles = agents.filter(({ id, runtime }) => id !== runtime)
  const linesOf = (agent: AgentStatus) => agentLines(style, width, agent)
  return [
    "Agents",
    ...adapters.flatMap(linesOf),
    ...(profiles.length === 0 ? [] : ["Profiles", ...profiles.flatMap(linesOf)]),
    "Runners",
    ...runners.map((runner) => runnerLine(style, width, runner))
  ]
}

/** Formats the report. The last line ends with a newline. */
export const formatDiagnosis = (diagnosis: Diagnosis, paint: Paint): string => {
  const style = styleOf(paint)
  const { corral, edge, hub, node } = diagnosis
  return [
    `corral ${corral}`,
    `${style.mark(node.ok)} Node ${node.version}`,
    ...edgeLines(style, edge),
    ...hubLines(style, hub),
    ...machineLines(style, diagnosis),
    ...programLines(style, diagnosis),
    ""
  ].join("\n")
}
