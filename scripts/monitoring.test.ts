/** The files under `deploy/monitoring`: their metrics exist, their alerts have runbooks, and Prometheus' own tool accepts and tests them where it is installed. */
import { edgeMetrics } from "@corral/edge/EdgeMetrics"
import { gatewayMetrics } from "@corral/gateway/GatewayMetrics"
import { hubMetrics } from "@corral/hub/HubMetrics"
import { type MetricRow, serviceMetrics } from "@corral/service/telemetry/Metrics"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = join(root, "deploy/monitoring")
const read = (name: string): string => readFileSync(join(folder, name), "utf8")

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: ReadonlyArray<{ readonly expr: string }>
}
interface Dashboard {
  readonly uid: string
  readonly panels: ReadonlyArray<Panel>
}
const services = { edge: edgeMetrics, hub: hubMetrics, gateway: gatewayMetrics }
const dashboards = new Map(
  Object.keys(services).map((service) => [service, JSON.parse(read(`${service}.json`)) as Dashboard])
)
const alerts = [...read("alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name)

/** Series of each metric, as Prometheus names them, with their labels. */
const series = new Map<string, ReadonlyArray<string>>()
for (const [service, metrics] of Object.entries(services))
  for (const row of [
    ...Object.values(metrics),
    ...Object.values(serviceMetrics)
  ] as ReadonlyArray<MetricRow>) {
    const name = `corral_${service}_${row.name}`
    const labels = [...(row.labels ?? []), "job", "instance"]
    if (row.kind === "histogram") {
      series.set(`${name}_bucket`, [...labels, "le"])
      series.set(`${name}_count`, labels)
    } else series.set(name, labels)
  }

/** Names of series in a text, those of a pattern for several services included. */
const namesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/corral_(?:\((\w+(?:\|\w+)+)\)|(edge|hub|gateway))_(\w+)/g)].flatMap(
    ([, several, one, rest = ""]) => (several ?? one ?? "").split("|").map((each) => `corral_${each}_${rest}`)
  )

const promtool = spawnSync("promtool", ["--version"]).status === 0

/** Output of the tool. Fails if it finds an error. */
const check = (...args: ReadonlyArray<string>): void => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { cwd: folder, encoding: "utf8" })
  assert.strictEqual(status, 0, `${stdout}${stderr}`)
}

describe("monitoring", () => {
  it("names metrics that the services have, with labels that they have", () => {
    const texts = [
      "alerts.yml",
      "alerts.test.yml",
      ...[...dashboards.keys()].map((name) => `${name}.json`)
    ].map(read)
    for (const text of texts) {
      const names = namesIn(text)
      assert.isAbove(names.length, 5)
      for (const name of names) assert.isTrue(series.has(name), name)
      for (const [, name = "", selector = ""] of text
        .replaceAll('\\"', '"')
        .matchAll(/(corral_\w+)\{([^{}]*)\}/g))
        for (const [, label = ""] of selector.matchAll(/(\w+)=~?"/g))
          assert.include(series.get(name) ?? [], label, name)
    }
  })

  it("shows every metric of a service in its dashboard", () => {
    for (const [service, metrics] of Object.entries(services))
      for (const { name } of Object.values(metrics))
        assert.include(read(`${service}.json`), `corral_${service}_${name}`)
  })

  it("has panels that do not overlap", () => {
    for (const { panels, uid } of dashboards.values()) {
      assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length, uid)
      const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`)
      )
      assert.strictEqual(new Set(cells).size, cells.length, uid)
      for (const { gridPos } of panels) assert.isAtMost(gridPos.x + gridPos.w, 24)
    }
  })

  it("has a runbook for each alert, and tests each alert", () => {
    const pages = readdirSync(join(root, "docs/runbooks")).map((page) => page.replace(/\.md$/, ""))
    assert.deepStrictEqual(pages.toSorted(), [...alerts, "README"].toSorted())
    const index = readFileSync(join(root, "docs/runbooks/README.md"), "utf8")
    for (const alert of alerts) {
      const page = readFileSync(join(root, `docs/runbooks/${alert}.md`), "utf8")
      for (const part of [`# ${alert}\n`, "**Effect.**", "## Look\n", "## Do\n"]) assert.include(page, part)
      assert.include(read("alerts.yml"), `runbook: docs/runbooks/${alert}.md\n`)
      assert.include(read("alerts.test.yml"), `alertname="${alert}"`)
      assert.include(index, `(${alert}.md)`)
    }
  })

  it.skipIf(!promtool)("has rules that Prometheus accepts, and that fire on their faults alone", () => {
    check("check", "rules", "alerts.yml")
    check("test", "rules", "alerts.test.yml")
  })

  it.skipIf(!promtool)("has queries that Prometheus accepts in its dashboards", () => {
    const temporary = mkdtempSync(join(tmpdir(), "corral-queries-"))
    const queries = [...dashboards.values()].flatMap(({ panels }) =>
      panels.flatMap(({ targets }) =>
        targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"))
      )
    )
    const rules = queries.map((expr, at) => ({ record: `query:${at}`, expr }))
    // JSON is YAML.
    writeFileSync(join(temporary, "queries.yml"), JSON.stringify({ groups: [{ name: "queries", rules }] }))
    check("check", "rules", join(temporary, "queries.yml"))
    rmSync(temporary, { recursive: true })
  })
})
