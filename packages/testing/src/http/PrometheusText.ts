/** Prometheus' text format, read strictly: a line that is none of it fails the test. */
import { assert } from "@effect/vitest"
import { type MetricRow, serviceMetrics } from "@corral/service/telemetry/Metrics"

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const sampleShape =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)$/

export class PrometheusText {
  readonly samples: ReadonlyArray<Sample>
  /** Name of a family → its type. */
  readonly families: ReadonlyMap<string, string>

  constructor(text: string) {
    assert.match(text, /^$|\n$/)
    const families = new Map<string, string>()
    this.samples = text
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .flatMap((line): ReadonlyArray<Sample> => {
        if (line.startsWith("# HELP ")) return []
        const [, family, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
        if (family !== undefined && type !== undefined) {
          assert.isFalse(families.has(family), line)
          families.set(family, type)
          return []
        }
        const [, name = "", labels = "", value = ""] = sampleShape.exec(line) ?? []
        assert.notStrictEqual(name, "", line)
        assert.isFalse(Number.isNaN(Number(value.replace("+Inf", "Infinity"))), line)
        const pairs = [...labels.matchAll(/([a-zA-Z_0-9]+)="((?:[^"\\]|\\.)*)"/g)]
        const named = pairs.map(([, label = "", text = ""]) => [label, text] as const)
        return [{ name, labels: Object.fromEntries(named), value: Number(value) }]
      })
    this.families = families
  }

  /** The sum of those samples. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
    )
    assert.isNotEmpty(found, `${name} ${JSON.stringify(labels)}`)
    return found.reduce((sum, { value }) => sum + value, 0)
  }

  /** It has each of those rows, with their kinds and labels, and no other. */
  assertRows(service: string, rows: Readonly<Record<string, MetricRow>>): void {
    const wanted = [...Object.values(serviceMetrics), ...Object.values(rows)] as ReadonlyArray<MetricRow>
    assert.deepStrictEqual(
      [...this.families].toSorted(),
      wanted.map(({ kind, name }) => [`corral_${service}_${name}`, kind] as [string, string]).toSorted()
    )
    for (const { kind, labels = [], name } of wanted) {
      const ofMetric = this.samples.filter((sample) => sample.name.startsWith(`corral_${service}_${name}`))
      for (const sample of ofMetric) {
        const labelNames = new Set([...labels, ...(kind === "histogram" ? ["le"] : [])])
        assert.deepStrictEqual(
          Object.keys(sample.labels).filter((label) => !labelNames.has(label)),
          [],
          name
        )
      }
    }
  }
}
