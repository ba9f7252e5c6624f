/** An OTLP/HTTP collector in this process: keeps what it is sent as JSON, or does what a collector should not. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { until } from "../time/Until.ts"

type Value = { readonly stringValue?: string; readonly intValue?: number; readonly doubleValue?: number }

export interface CollectedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
  readonly attributes: Readonly<Record<string, string | number | undefined>>
  readonly status: { readonly code: number }
}

interface Resource {
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Value }>
}
interface Sent {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeSpans: ReadonlyArray<{
      readonly spans: ReadonlyArray<Omit<CollectedSpan, "attributes" | "service"> & Resource>
    }>
  }>
  readonly resourceMetrics?: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<{ readonly name: string }> }>
  }>
}

const plain = ({ attributes }: Resource): Record<string, string | number | undefined> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue])
  )

/** `hang`: takes what is sent and never answers. `stall`: answers, and never ends the answer. */
export type CollectorBehavior = "hang" | "refuse" | "stall" | "take"

export class FakeCollector {
  behavior: CollectorBehavior = "take"
  /** Everything it was sent, as it came. */
  text = ""
  requests = 0
  headers: IncomingHttpHeaders = {}
  readonly spans: Array<CollectedSpan> = []
  readonly metrics = new Set<string>()
  private readonly server: Server

  private constructor(server: Server) {
    this.server = server
  }

  static async open(): Promise<FakeCollector> {
    const server = createServer()
    const collector = new FakeCollector(server)
    server.on("request", (request, response) => {
      let text = ""
      request.setEncoding("utf8").on("data", (more: string) => (text += more))
      request.once("end", () => {
        collector.requests++
        collector.headers = request.headers
        if (collector.behavior === "hang") return
        if (collector.behavior === "stall") return void response.writeHead(200).write("{")
        if (collector.behavior === "refuse") return void response.writeHead(500).end()
        collector.take(text)
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    return collector
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  span(test: (span: CollectedSpan) => boolean, what: string): Promise<CollectedSpan> {
    return until(async () => this.spans.find(test), what, 15_000)
  }

  async close(): Promise<void> {
    if (!this.server.listening) return
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private take(text: string): void {
    this.text += text
    // Written by the exporter.
    const { resourceMetrics = [], resourceSpans = [] } = JSON.parse(text) as Sent
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(plain(resource)["service.name"])
      for (const { spans } of scopeSpans)
        for (const span of spans) this.spans.push({ ...span, service, attributes: plain(span) })
    }
    for (const { scopeMetrics } of resourceMetrics)
      for (const { metrics } of scopeMetrics) for (const { name } of metrics) this.metrics.add(name)
  }
}
