/**
 * `/openapi.json` and `/asyncapi.json`: the documents of a service's contract, files of the build. A bundle has them in its folder, a package
 * beside its modules, and a service that runs from source in the repository. They are read when they are first requested.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { readFile } from "node:fs/promises"
import { StaticFile } from "./StaticFile.ts"

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

/** The routes of a service's documents. `address`: that of a module two folders below the folder of its package. */
export const serviceDocuments = (service: "edge" | "gateway" | "hub", address: string) => {
  const read = new Map<DocumentKind, Promise<StaticFile | undefined>>()
  return Layer.mergeAll(
    HttpRouter.add("GET", "/openapi.json", respondWith("openapi")),
    HttpRouter.add("GET", "/asyncapi.json", respondWith("asyncapi"))
  )

  function respondWith(kind: DocumentKind) {
    return Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const reading = read.get(kind) ?? readDocument(address, `${kind}/${service}.json`)
      read.set(kind, reading)
      const file = yield* Effect.promise(() => reading)
      if (file !== undefined) return file.respond(request, standing)
      const reason = new HttpServerError.RouteNotFound({ request })
      return yield* new HttpServerError.HttpServerError({ reason })
    })
  }
}
