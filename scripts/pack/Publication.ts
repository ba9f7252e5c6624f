/** `publication.txt` among the packed tarballs: their paths, in the order in which they are published. The release reads it. */
import { execFileSync } from "node:child_process"
import { globSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Publishable, publicationOrder } from "./PublicationOrder.ts"

export interface PackedManifest extends Publishable {
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string }
}

/** `package.json` of a tarball. */
export const packedManifest = (tarball: string): PackedManifest =>
  JSON.parse(execFileSync("tar", ["-xOf", tarball, "package/package.json"], { encoding: "utf8" }))

/** Paths of the tarballs below a folder, in order. */
export const publicationOf = (
  folder: string,
  pattern = "{.,command,template}/*.tgz"
): ReadonlyArray<string> =>
  publicationOrder(
    globSync(pattern, { cwd: folder }).map((path) => ({ ...packedManifest(join(folder, path)), path }))
  ).map(({ path }) => path)

export const writePublication = (folder: string): void =>
  writeFileSync(join(folder, "publication.txt"), `${publicationOf(folder).join("\n")}\n`)
