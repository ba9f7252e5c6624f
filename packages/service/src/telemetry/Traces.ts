/**
 * Spans, made by hand at the few places that matter: a request, a command, a run. Nothing else makes any: a library's own spans would hold
 * addresses, queries and headers.
 *
 * Without a collector none is made, and a caller's `traceparent` is passed on unchanged.
 */
import { contextOf, traceparentFor } from "@corral/domain/http/TraceContext"
import { type Clock, Context, Exit, Option, Tracer } from "effect"

/** Short words and ids; never a text, a path or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number>>

export interface TraceSpan {
  /** Names this span, as parent of others. */
  readonly traceparent: string
  readonly put: (attributes: SpanAttributes) => void
  /** Once; what failed is marked so. */
  readonly end: (attributes: SpanAttributes, failed: boolean) => void
}

export interface Traces {
  /** A span from now on; `parent` is a good `traceparent`. `undefined` without a collector. */
  readonly start: (
    name: string,
    kind: Tracer.SpanKind,
    parent: string | undefined,
    attributes: SpanAttributes
  ) => TraceSpan | undefined
}

/** Nothing is traced unless a service has a collector. */
export const CurrentTraces = Context.Reference<Traces>("corral/service/Traces", {
  defaultValue: (): Traces => ({ start: () => undefined })
})

/** The `traceparent` that the work at hand is part of. */
export const CurrentTraceparent = Context.Reference<string | undefined>("corral/service/Traceparent", {
  defaultValue: () => undefined
})

/** Said in the place of an error, whose words may be anybody's. */
const FAILED = Exit.fail("failed")

/** Spans of that tracer. What the caller has decided not to sample is not sampled here. */
export const tracesOf = (tracer: Tracer.Tracer, clock: Clock.Clock): Traces => ({
  start: (name, kind, parent, attributes) => {
    const above = parent === undefined ? undefined : contextOf(parent)
    const span = tracer.span({
      name,
      kind,
      parent: above === undefined ? Option.none() : Option.some(Tracer.externalSpan(above)),
      annotations: Context.empty(),
      links: [],
      startTime: clock.currentTimeNanosUnsafe(),
      root: above === undefined,
      sampled: above?.sampled ?? true
    })
    const put = (more: SpanAttributes) => {
      for (const [key, value] of Object.entries(more)) span.attribute(key, value)
    }
    put(attributes)
    return {
      traceparent: traceparentFor(span),
      put,
      end: (more, failed) => {
        if (span.status._tag === "Ended") return
        put(more)
        span.end(clock.currentTimeNanosUnsafe(), failed ? FAILED : Exit.void)
      }
    }
  }
})
