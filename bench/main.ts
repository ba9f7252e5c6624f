/**
 * `node bench/main.ts NAME`: runs one benchmark on what `npm run build` made. JSON lines on stdout, the same for people on stderr.
 *
 *   --rounds N        measurements on each side (5)
 *   --servers N       fresh servers for the latency and throughput of an Edge, N times (1); then the interval is that between servers
 *   --only GROUP      one group of figures; may be repeated
 *   --markdown FILE   rewrites the table between the file's two markers. Groups that `--only` names have markers of their own
 *   --profile FOLDER  the Edge leaves CPU profiles there
 *   --entry FILE      another built entry than dist/edge
 *   --against FILE    the Edge's entry of an earlier build, measured in turns with this one. What a benchmark measures in its own process
 *                     needs that build's checkout
 *
 * Ends with 1 where an event was lost: that is an error, however fast it was. Times are never one.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { adaptersBench } from "./adapters/AdaptersBench.ts"
import { edgeBench } from "./edge/EdgeBench.ts"
import { gatewayBench } from "./gateway/GatewayBench.ts"
import { machine } from "./Machine.ts"
import { hubBench } from "./hub/HubBench.ts"
import { linkBench } from "./link/LinkBench.ts"
import { Report } from "./Report.ts"

const benches = {
  adapters: adaptersBench,
  edge: edgeBench,
  gateway: gatewayBench,
  hub: hubBench,
  link: linkBench
}
const labels = { adapters: "adapter", edge: "Edge", gateway: "Gateway", hub: "Hub", link: "Hub and Edge" }

const rewrite = (file: string, groups: ReadonlyArray<string>, table: string): void => {
  const text = readFileSync(file, "utf8")
  const figures = groups.length === 0 ? "figures" : `figures of ${groups.join(", ")}`
  const [first, last] = [`<!-- ${figures}: begin -->`, `<!-- ${figures}: end -->`]
  const [begin, end] = [text.indexOf(first), text.indexOf(last)]
  if (begin === -1 || end < begin) throw new Error(`${file} has no place for the table: ${first} … ${last}`)
  writeFileSync(file, `${text.slice(0, begin + first.length)}\n\n${table}\n\n${text.slice(end)}`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    servers: { type: "string", default: "1" },
    only: { type: "string", multiple: true, default: [] },
    markdown: { type: "string" },
    profile: { type: "string" },
    against: { type: "string" },
    entry: { type: "string", default: fileURLToPath(new URL("../dist/edge/index.js", import.meta.url)) }
  }
})

const [name = ""] = positionals
const [rounds, servers] = [Number(values.rounds), Number(values.servers)]
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1
if (!(name in benches) || !isCount(rounds) || !isCount(servers)) {
  process.stderr.write(
    `usage: npm run bench -- NAME [--rounds N] [--servers N]\nbenchmarks: ${Object.keys(benches).join(", ")}\n`
  )
  process.exit(2)
}

const report = new Report(name, labels[name as keyof typeof labels], machine(), new Date().toISOString())
await benches[name as keyof typeof benches]({ ...values, rounds, servers }, report)
if (values.markdown !== undefined) rewrite(values.markdown, values.only, report.markdown())
if (report.lost > 0) process.exitCode = 1
