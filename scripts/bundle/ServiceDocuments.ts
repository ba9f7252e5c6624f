/** The documents that services serve, in the folder `documents` next to a bundle or in a package, without the spaces of the published ones. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { repository } from "./Bundler.ts"

export const documentedServices = ["edge", "gateway", "hub"] as const
export type DocumentedService = (typeof documentedServices)[number]

export const writeServiceDocuments = (
  folder: string,
  services: ReadonlyArray<DocumentedService> = documentedServices
): void => {
  for (const kind of ["openapi", "asyncapi"]) {
    mkdirSync(join(folder, "documents", kind), { recursive: true })
    for (const service of services) {
      const name = `${kind}/${service}.json`
      const document: unknown = JSON.parse(readFileSync(join(repository, name), "utf8"))
      writeFileSync(join(folder, "documents", name), JSON.stringify(document))
    }
  }
}
