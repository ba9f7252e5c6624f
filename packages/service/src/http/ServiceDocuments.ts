/**
 * Files with which a service describes itself: the documents of its contract, `/openapi.json` and `/asyncapi.json`, and for a service that is
 * reachable for everyone `/robots.txt`, `/llms.txt` and `/.well-known/security.txt` (RFC 9116), which say where the documents are, and no data.
 *
 * The documents are files of the build. A bundle has them in its folder, a package beside its modules, and a service that runs from source in the
 * repository. They are read when they are first requested. Links are relative, so they also lead there below a path.
 */
import { noRoute } from "./NotFound.ts"
import { StaticFile } from "./StaticFile.ts"
import { Clock, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { readFile } from "node:fs/promises"

const kinds = ["openapi", "asyncapi"] as const
type DocumentKind = (typeof kinds)[number]

/** Paths of the documents, below the path of the service. */
export const DOCUMENT_PATHS: ReadonlyArray<string> = kinds.map((kind) => `/${kind}.json`)

/** Next to the bundle, in the package, and in the repository. */
const places = ["documents", "../../documents", "../../../.."]

const readDocument = async (address: string, name: string): Promise<StaticFile | undefined> => {
  for (const place of places)
    try {
      return new StaticFile("application/json", await readFile(new URL(`${place}/${name}`, address)))
    } catch {
      // It is in another place.
    }
  return undefined
}

const standing = { "cache-control": "no-cache", "x-content-type-options": "nosniff" }

type Service = "edge" | "gateway" | "hub"

const documentRoute = (kind: DocumentKind, service: Service, address: string) => {
  let reading: Promise<StaticFile | undefined> | undefined
  return HttpRouter.add(
    "GET",
    `/${kind}.json`,
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      reading ??= readDocument(address, `${kind}/${service}.json`)
      const read = reading
      const file = yield* Effect.promise(() => read)
      return file === undefined ? yield* noRoute : file.respond(request, standing)
    })
  )
}

/** The routes of a service's documents. `address`: that of a module two folders below the folder of its package. */
export const serviceDocuments = (service: Service, address: string) =>
  Layer.merge(documentRoute("openapi", service, address), documentRoute("asyncapi", service, address))

interface DiscoveryOptions {
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

/** Routes of the discovery files. */
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
