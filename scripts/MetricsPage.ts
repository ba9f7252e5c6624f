/** `docs/metrics.md`: the metrics of each service, from their tables. */
import { edgeMetrics } from "@corral/edge/EdgeMetrics"
import { gatewayMetrics } from "@corral/gateway/GatewayMetrics"
import { hubMetrics } from "@corral/hub/HubMetrics"
import { type MetricRow, serviceMetrics } from "@corral/service/telemetry/Metrics"

const head = `# Metrics

Generated from \`EdgeMetrics.ts\`, \`HubMetrics.ts\`, \`GatewayMetrics.ts\` and \`Metrics.ts\` by \`npm run generate\`.

Each service returns its metrics at \`GET /metrics\`, in Prometheus' text format, and sends them to an OTLP collector. [Operations](operations.md#metrics) describes how to
enable both. Each name starts with \`corral_\` and the service: \`corral_edge_runs_live\`. Counters start at 0 with the process. Figures that need a query are computed when a client reads, at most once a
second, and are omitted when the store does not answer within two seconds. No label names a user, a run, a path or a project.
`

const table = (title: string, rows: Readonly<Record<string, MetricRow>>): string => {
  const lines = Object.values(rows).map(
    ({ kind, labels = [], name, what }) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${what} |`
  )
  return `\n## ${title}\n\n| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n${lines.join("\n")}\n`
}

/** The page as Markdown. */
export const metricsPage = (): string =>
  `${head}${table("Each service", serviceMetrics)}${table("Edge", edgeMetrics)}${table("Hub", hubMetrics)}${table("Gateway", gatewayMetrics)}`
