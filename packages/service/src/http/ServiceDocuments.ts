/**
 * `/openapi.json` and `/asyncapi.json`: the documents of a service's contract, files of the build. A bundle has them in its folder, a package
 * beside its modules, and a service that runs from source in the repository. They are read when they are first requested.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { readFile } from "node:fs/promises"
import { noRoute } from "./NoRoute.ts"
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
