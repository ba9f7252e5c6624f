/** `corral doctor`: what works here, what does not, and what to do about it. Says what it can where no Edge runs. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { edgeFlags, toggle } from "../Flags.ts"
import { examine, type Examination } from "../Examination.ts"
import { Host } from "../Host.ts"
import { painter, type Paint } from "../Paint.ts"

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const report = ({ corral, node, home, edge, agents }: Examination, paint: Paint): string => {
  const mark = (good: boolean) => (good ? paint("green", "✓") : paint("red", "✗"))
  const advice = (text: string | undefined) => (text === undefined ? "" : ` ${paint("dim", text)}`)
  return [
    `corral ${corral}`,
    `${mark(node.ok)} Node ${node.version}`,
    edge.running
      ? `${mark(edge.status === "ok")} Edge ${edge.version} at ${edge.url}: ${count(edge.runs, "run")}, ${count(edge.workspaces, "workspace")}, store ${edge.store}, containment ${edge.containment}`
      : `${paint("yellow", "–")} ${edge.reason}`,
    `${mark(home.files.every((file) => file.ok))} Home ${home.path}`,
    ...home.files.map(({ name, mode, ok, hint }) => `    ${mode} ${name}${ok ? "" : advice(hint)}`),
    "Agents",
    ...agents.map(
      ({ id, label, available, version, reason, hint }) =>
        `  ${mark(available)} ${id.padEnd(12)} ${label}${version === undefined ? "" : ` ${version}`}${advice(
          [reason, hint].filter((part) => part !== undefined).join(": ") || undefined
        )}`
    ),
    ""
  ].join("\n")
}

export const doctor = Command.make(
  "doctor",
  { ...edgeFlags, json: toggle("json", "Print one JSON object") },
  Effect.fn(function* ({ url, tokenFile, json }) {
    const host = yield* Host
    const found = yield* examine({ url, tokenFile })
    host.write(json ? `${JSON.stringify(found)}\n` : report(found, painter(host.live)))
    const sound =
      found.node.ok &&
      found.home.files.every(({ ok }) => ok) &&
      (!found.edge.running || found.edge.status === "ok")
    if (!sound) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("Say what works here and what is missing"))
