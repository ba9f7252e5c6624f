/** `docs/events.md`: every event of payload version 1, from the schemas that the code decodes with. */
import { eventIdOf, type AgentId, type RunId } from "@corral/domain/identity/Ids"
import {
  decodeEvent,
  Envelope,
  MAX_PAYLOAD_BYTES,
  PAYLOAD_VERSION,
  payloads,
  eventTypes,
  type EventType
} from "@corral/domain/run/RunEvent"
import { Result, Schema } from "effect"
import { eventExamples } from "./EventExamples.ts"
import { fieldTable } from "./FieldTable.ts"

const runId = "run_01KAH2T3J0Q4W8XN5M7C1B9D6A" as RunId

/** The envelope around an example, proved to be one that a reader of this version knows. */
const example = (type: EventType): string => {
  const seq = eventTypes.indexOf(type) + 1
  const envelope = {
    id: eventIdOf(runId, seq),
    seq,
    type,
    runId,
    agentId: "scripted" as AgentId,
    createdAt: "2026-11-21T10:00:00.000Z",
    payload: { v: PAYLOAD_VERSION, ...eventExamples[type].payload }
  }
  const read = decodeEvent(envelope)
  if (Result.isFailure(read) || read.success._tag !== "KnownEvent")
    throw new Error(`the example of ${type} is none`)
  return JSON.stringify(envelope, null, 2)
}

/** Definitions that payloads refer to, by name. */
const shared = new Map<string, unknown>()

const section = (type: EventType): ReadonlyArray<string> => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(Schema.Struct(payloads[type]))
  for (const [name, definition] of Object.entries(definitions)) shared.set(name, definition)
  return [
    `## ${type}`,
    "",
    eventExamples[type].sentence,
    "",
    ...fieldTable(schema),
    "",
    "```json",
    example(type),
    "```",
    ""
  ]
}

const head = `# Events

Generated from \`packages/domain/src/run/RunEvent.ts\` by \`npm run generate\`. JSON Schema: [\`schemas/run-event.json\`](../schemas/run-event.json).

A run's log is a list of events. Each has the same envelope; \`payload\` depends on \`type\`. \`seq\` counts from 1 in each run,
without gaps. The envelope is closed. Payloads grow: ignore types and fields that you do not know, and keep them.
Payload version: \`v\` is ${PAYLOAD_VERSION}. One payload has at most ${MAX_PAYLOAD_BYTES} bytes of JSON. A longer text is split into several deltas or truncated. Then \`truncated\`
is true and \`totalBytes\` is the full size. Paths are relative to the workspace and use \`/\`.
Times are ISO 8601 in UTC.

An event's \`id\` derives from its run and its \`seq\`: \`evt_\` and the 26 characters of the run's id, the last eight of them replaced by \`seq\` in
Crockford's base 32 (\`0-9A-HJKMNP-TV-Z\`), padded with zeros. The third event of \`run_01K8V1YJ9QX5M2R7T3W6Z4B0CD\` is
\`evt_01K8V1YJ9QX5M2R7T300000003\`. A Hub refuses a pushed event with another id (\`schema_validation_failed\`).

This is the whole vocabulary of the contract. The log of a run has events of the families \`run.*\`, \`runtime.*\` and \`schema.*\`. A [Gateway](gateway.md)
writes \`integration.*\` and \`identity.*\`: chat events, which it sends to the Hub and which are in no run's log.
`

/** The page as Markdown. */
export const eventsPage = (): string => {
  const sections = eventTypes.flatMap(section)
  const envelope = Schema.toJsonSchemaDocument(Envelope)
  const envelopeSchema = envelope.definitions["Envelope"] ?? envelope.schema
  const definitions = [...shared]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, schema]) => [`## ${name}`, "", ...fieldTable(schema), ""])
  return (
    [head, "## Envelope", "", ...fieldTable(envelopeSchema), "", ...sections, ...definitions]
      .join("\n")
      .trimEnd() + "\n"
  )
}
