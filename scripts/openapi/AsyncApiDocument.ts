/**
 * AsyncAPI 3 documents: the WebSocket of an Edge and of a Hub, the change feed of a Hub, and the normalized events that a Gateway sends.
 *
 * The messages are those of `schemas/run-event.json` and of the contract. Parameters are those of the stream's query.
 */
import { EdgeStreamQuery, HubStreamQuery } from "@corral/domain/http/EventStream"
import { closeCodes, hubCloseCodes } from "@corral/domain/http/StreamEnd"
import { BindingUpdated } from "@corral/domain/chat/ChatAccount"
import { BindingRequiredEvent, CardAction, MessageReceived } from "@corral/domain/chat/Integration"
import { layerStatus, type LayerStatus } from "@corral/domain/http/Health"
import { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { Envelope, eventSchema, eventTypes } from "@corral/domain/run/RunEvent"
import { Schema } from "effect"

interface Channel {
  readonly address: string
  readonly title: string
  readonly description: string
  readonly protocol: "ws" | "http"
  /** Schema of the query, for a WebSocket. */
  readonly query?: Schema.Top
  readonly messages: Readonly<Record<string, unknown>>
  /** What the service does with the messages; `send` by default. */
  readonly action?: "receive"
  /** Schemas of the messages. */
  readonly schemas: () => ReadonlyArray<Schema.Top>
}

export interface StreamService {
  /** Of its layer. */
  readonly status: LayerStatus
  readonly id: string
  readonly title: string
  readonly description: string
  /** Host and port on this machine. */
  readonly host: string
  readonly channels: Readonly<Record<string, Channel>>
}

const runEventSchemas = () => [
  ...eventTypes.map((type) => eventSchema(type).annotate({ identifier: type })),
  Envelope
]

const runEventMessages = () => ({
  ...Object.fromEntries(
    eventTypes.map((type) => [
      type,
      { name: type, contentType: "application/json", payload: { $ref: `#/components/schemas/${type}` } }
    ])
  ),
  laterType: {
    name: "laterType",
    summary: "An event of a later version. Ignore it, and keep it.",
    contentType: "application/json",
    payload: { $ref: "#/components/schemas/Envelope" }
  }
})

const codesText = (codes: Readonly<Record<string, number>>): string =>
  Object.entries(codes)
    .map(([name, code]) => `${code} (${name})`)
    .join(", ")

const about =
  "Stored events after `after`, then live ones, as JSON text. The events of each run are in their order. Close codes: "

export const edgeStreamService: StreamService = {
  status: layerStatus.eventStreams,
  id: "urn:corral:asyncapi:edge",
  title: "Corral Edge",
  description: "Event stream of an Edge. The token is in the Authorization header, or in `token`.",
  host: "127.0.0.1:4870",
  channels: {
    events: {
      protocol: "ws",
      address: "/v1/events",
      title: "Events of one run, or of all runs",
      description: `${about}${codesText(closeCodes)}.`,
      query: EdgeStreamQuery,
      messages: runEventMessages(),
      schemas: runEventSchemas
    }
  }
}

export const hubStreamService: StreamService = {
  status: layerStatus.eventStreams,
  id: "urn:corral:asyncapi:hub",
  title: "Corral Hub",
  description:
    "Event streams of a Hub. The token is in the Authorization header; a page of the Hub uses its cookie.",
  host: "127.0.0.1:7400",
  channels: {
    events: {
      protocol: "ws",
      address: "/client/events",
      title: "Events of one run, or of all runs of a session",
      description: `${about}${codesText(hubCloseCodes)}.`,
      query: HubStreamQuery,
      messages: runEventMessages(),
      schemas: runEventSchemas
    },
    news: {
      protocol: "http",
      address: "/client/news",
      title: "Hints about changed devices, approvals, tasks and runs",
      description:
        "Server-sent events over HTTP. Each `data:` is a hint. A connection starts with the current state.",
      messages: {
        hint: {
          name: "hint",
          contentType: "application/json",
          payload: { $ref: "#/components/schemas/HubNews" }
        }
      },
      schemas: () => [ChangeHint]
    }
  }
}

const message = (name: string, schema: string) => ({
  name,
  contentType: "application/json",
  payload: { $ref: `#/components/schemas/${schema}` }
})

export const gatewayStreamService: StreamService = {
  status: layerStatus.chatEvents,
  id: "urn:corral:asyncapi:gateway",
  title: "Corral Gateway",
  description:
    "Normalized events of chat platforms. The Gateway sends each to the Hub, with its token, as the body of a request.",
  host: "127.0.0.1:7400",
  channels: {
    integrationEvents: {
      protocol: "http",
      address: "/integrations/events",
      title: "Messages, card actions and accounts without a user",
      description:
        "Requests to the Hub. An event that was sent before has the same `key`. The response names the user, or the page where the account can be linked.",
      messages: {
        messageReceived: message("integration.message.received", "MessageReceived"),
        cardAction: message("integration.card.action", "CardAction"),
        bindingRequired: message("identity.binding.required", "BindingRequired")
      },
      schemas: () => [MessageReceived, CardAction, BindingRequiredEvent]
    },
    bindingUpdates: {
      protocol: "http",
      address: "/integrations/bindings/updates",
      title: "States of the bindings of accounts",
      description:
        "Made by the Hub, in the `items` of its responses. An update is returned until the Gateway has noted it, and names no user.",
      messages: { bindingUpdated: message("identity.binding.updated", "BindingUpdated") },
      action: "receive",
      schemas: () => [BindingUpdated]
    }
  }
}

/** Schemas of a document at the place where AsyncAPI has them. */
const placed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))

const schemasOf = (schemas: ReadonlyArray<Schema.Top>): Readonly<Record<string, unknown>> => {
  const all = schemas.map((schema) => Schema.toJsonSchemaDocument(schema).definitions)
  return Object.assign({}, ...all) as Readonly<Record<string, unknown>>
}

const channelOf = ({ address, description, messages, protocol, query, title }: Channel) => ({
  address,
  title,
  description,
  servers: [{ $ref: `#/servers/${protocol}` }],
  messages,
  ...(query === undefined
    ? {}
    : {
        bindings: {
          ws: {
            method: "GET",
            query: Schema.toJsonSchemaDocument(Schema.toType(query)).schema,
            bindingVersion: "0.1.0"
          }
        }
      })
})

const license = { name: "Apache License 2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" }
const bearer = { type: "http", scheme: "bearer", description: "In the Authorization header" }

/** The published document of the events of a service. */
export const asyncApiDocument = ({
  channels,
  description,
  host,
  id,
  status,
  title
}: StreamService): unknown => {
  const named = Object.entries(channels)
  const protocols = new Set(named.map(([, { protocol }]) => protocol))
  const server = {
    host,
    description: "Replace the port with the one that the service reports when it starts"
  }
  return placed({
    asyncapi: "3.0.0",
    id,
    info: { title, version: "1", description, license, "x-status": status },
    defaultContentType: "application/json",
    servers: Object.fromEntries([...protocols].map((protocol) => [protocol, { ...server, protocol }])),
    channels: Object.fromEntries(named.map(([name, channel]) => [name, channelOf(channel)])),
    operations: Object.fromEntries(
      named.map(([name, channel]) => [
        channel.action === undefined ? `${name}Send` : `${name}Receive`,
        {
          action: channel.action ?? "send",
          channel: { $ref: `#/channels/${name}` },
          summary: channel.title,
          security: [{ $ref: "#/components/securitySchemes/bearer" }]
        }
      ])
    ),
    components: {
      schemas: schemasOf(named.flatMap(([, { schemas }]) => schemas())),
      securitySchemes: { bearer }
    }
  })
}
