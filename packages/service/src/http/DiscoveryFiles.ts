/**
 * Discovery files of a service that is reachable for everyone: `/robots.txt`, `/llms.txt` and `/.well-known/security.txt` (RFC 9116). They say where
 * the documents are, and no data. Their links are relative, so they also lead there below a path.
 */
import { Clock, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { noRoute } from "./NoRoute.ts"

export interface DiscoveryOptions {
  readonly title: string
  /** One sentence that says what the service is. */
  readonly summary: string
  /** Where to report a vulnerability: a `mailto:` or `https:` address. Absent: there is no `security.txt`. */
  readonly securityContact: string | undefined
}

/** Paths of the files, below the path of the service. */
export const DISCOVERY_PATHS: ReadonlyArray<string> = [
  "/robots.txt",
  "/llms.txt",
  "/.well-known/security.txt"
]

const robots = "User-agent: *\nDisallow: /\n"

const llms = ({ summary, title }: DiscoveryOptions): string => `# ${title}

> ${summary}

An agent or a program uses the API with the credentials of its user. Every error is an object with \`code\`, \`message\` and \`requestId\`.

## Documents

- [OpenAPI](openapi.json): all endpoints, with their schemas and errors
- [AsyncAPI](asyncapi.json): event streams and messages
`

const DAY_MS = 86_400_000
/** RFC 9116 asks for less than a year. The day changes with each day on which the service runs. */
const VALID_DAYS = 90

const securityText = (contact: string, now: number): string => {
  const expires = new Date((Math.floor(now / DAY_MS) + VALID_DAYS) * DAY_MS)
  return `Contact: ${contact}\nExpires: ${expires.toISOString()}\nPreferred-Languages: en, zh\n`
}

const textFile = (text: string, type = "text/plain") =>
  HttpServerResponse.text(text, {
    contentType: `${type}; charset=utf-8`,
    headers: { "cache-control": "no-cache", "x-content-type-options": "nosniff" }
  })

export const discoveryFiles = (options: DiscoveryOptions) => {
  const { securityContact } = options
  return Layer.mergeAll(
    HttpRouter.add("GET", "/robots.txt", textFile(robots)),
    HttpRouter.add("GET", "/llms.txt", textFile(llms(options), "text/markdown")),
    HttpRouter.add(
      "GET",
      "/.well-known/security.txt",
      securityContact === undefined
        ? noRoute
        : Effect.map(Clock.currentTimeMillis, (now) => textFile(securityText(securityContact, now)))
    )
  )
}
