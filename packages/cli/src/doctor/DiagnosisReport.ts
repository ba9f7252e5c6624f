/** What `corral doctor` found, as a person reads it: one line a thing, a mark before it, what to do about it behind it. */
import type { HealthProblem, LinkReadiness } from "@corral/domain/http/Health"
import type { AgentStatus, RunnerStatus } from "./AgentStatus.ts"
import type { Diagnosis } from "./Diagnosis.ts"
import type { HubStatus } from "./HubHealth.ts"
import type { Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const DRIFT_KINDS = 5

/** The lines of the report, with a line end after the last. */
export const formatDiagnosis = (found: Diagnosis, paint: Paint): string => {
  const { corral, node, home, edge, hub, config, git, disk, containment, agents, runners } = found
  const mark = (good: boolean) => (good ? paint("green", "✓") : paint("red", "✗"))
  const open = paint("yellow", "–")
  const advice = (...parts: ReadonlyArray<string | undefined>) => {
    const said = parts.filter((part) => part !== undefined).join(": ")
    return said === "" ? "" : ` ${paint("dim", escapeLine(said))}`
  }

  const width = Math.max(12, ...[...agents, ...runners].map(({ id }) => id.length))

  const agent = ({ id, label, available, version, path, signedIn, reason, hint, drift }: AgentStatus) => [
    `  ${signedIn === false ? open : mark(available)} ${id.padEnd(width)} ${label}${
      version === undefined ? "" : ` ${version}`
    }${path === undefined ? "" : ` ${paint("dim", path)}`}${signedIn === true ? ", signed in" : ""}${advice(reason, hint)}`,
    ...(drift === undefined
      ? []
      : [
          `    ${open} ${count(drift.unknown, "thing")} that this adapter has no name for, seen with ${
            drift.versionsSeen.join(", ") || "an unknown version"
          }${advice(
            drift.kinds
              .slice(0, DRIFT_KINDS)
              .map(({ what, count }) => `${what} ×${count}`)
              .join(", ")
          )}`
        ])
  ]

  const runner = ({ id, label, available, command, reason, hint }: RunnerStatus) =>
    `  ${available ? mark(true) : open} ${id.padEnd(width)} ${label}${advice(available ? command.join(" ") : reason, available ? undefined : hint)}`

  const linkLine = ({ deviceId, hub, problem, state }: LinkReadiness) =>
    `${state === "linked" ? mark(true) : state === "refused" ? mark(false) : open} Hub ${escapeLine(hub ?? "of an unknown address")}: ${state}${
      deviceId === undefined ? "" : ` as ${deviceId}`
    }${advice(problem)}`

  const problemLine = ({ hint, message }: HealthProblem) =>
    `  ${mark(false)} ${escapeLine(message)}${advice(hint)}`

  const hubStates = {
    ok: "ready",
    degraded: "ready, with a fault",
    not_ready: "not ready",
    unreachable: "can't be reached"
  } as const
  const hubLines = ({ hint, problems, state, url }: HubStatus) => [
    `${mark(state === "ok")} Hub at ${escapeLine(url)}: ${hubStates[state]}${advice(hint)}`,
    ...problems.map(problemLine)
  ]

  const adapters = agents.filter(({ id, runtime }) => id === runtime)
  const profiles = agents.filter(({ id, runtime }) => id !== runtime)
  return [
    `corral ${corral}`,
    `${mark(node.ok)} Node ${node.version}`,
    edge.running
      ? `${mark(edge.status === "ok")} Edge ${edge.version} at ${edge.url}: ${count(edge.runs, "run")}${
          edge.queued === 0 ? "" : ` and ${edge.queued} waiting`
        }, ${count(edge.workspaces, "workspace")}, store ${escapeLine(edge.store)}`
      : `${open} ${escapeLine(edge.reason)}`,
    ...(edge.running
      ? edge.problems.filter(({ part }) => part === "store").map(problemLine)
      : edge.store === undefined
        ? []
        : [`${mark(false)} Store${advice(edge.store)}`]),
    ...(edge.running && edge.link !== undefined && edge.link.state !== "none" ? [linkLine(edge.link)] : []),
    ...(hub === undefined ? [] : hubLines(hub)),
    `${mark(home.files.every((file) => file.ok))} Home ${home.path}`,
    ...home.files.map(({ name, mode, ok, hint }) => `    ${mode} ${name}${ok ? "" : advice(hint)}`),
    ...(disk === undefined
      ? []
      : [
          `${mark(disk.ok)} Disk ${gigabytes(disk.freeBytes)} free${disk.ok ? "" : advice("Make room: an Edge needs 100 MB.")}`
        ]),
    `${git.found ? mark(true) : open} git${git.version === undefined ? "" : ` ${git.version}`}${git.found ? "" : advice("not on PATH")}`,
    `${mark(true)} Containment ${containment}`,
    ...(config === undefined || config.problem === undefined
      ? []
      : [`${mark(false)} Configuration${advice(config.problem)}`]),
    "Agents",
    ...adapters.flatMap(agent),
    ...(profiles.length === 0 ? [] : ["Profiles", ...profiles.flatMap(agent)]),
    "Runners",
    ...runners.map(runner),
    ""
  ].join("\n")
}

const gigabytes = (bytes: number): string =>
  bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
