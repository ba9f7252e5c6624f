/**
 * Licence texts of everything that is bundled into `dist`, from the packages' own files.
 *
 * For a package without a licence file, the notices contain the text of the licence that its manifest names. An unknown licence fails the
 * build.
 */
import { globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

interface PackageManifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string }
}

/** Folder of the package that a bundled file is of, relative to the root; `undefined` for our own. */
export const packageFolderOf = (file: string): string | undefined =>
  /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file.replaceAll("\\", "/"))?.[0]

const mit = (holder: string): string => `MIT License

Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

const textsOf = (folder: string, { author, license, name }: PackageManifest): ReadonlyArray<string> => {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  if (files.length > 0) return files.toSorted().map((file) => readFileSync(join(folder, file), "utf8").trim())
  if (license !== "MIT") throw new Error(`${name} has no licence file, and its licence is ${license}`)
  const holder = typeof author === "object" ? author.name : author
  return [mit(holder ?? `the authors of ${name}`).trim()]
}

const RULE = "-".repeat(80)

/** Sources of ours that contain texts of others have the licence beside them. */
const sourceLicenses = "packages/*/src/**/*.LICENSE"

/** The text for the packages in those folders, and for texts of others among our own sources: of all packages, or of those that `sources` finds. */
export const noticesOf = (root: string, folders: Iterable<string>, sources = sourceLicenses): string => {
  const packages = new Map<string, string>()
  for (const folder of folders) {
    const manifest: PackageManifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))
    const title = `${manifest.name} ${manifest.version} (${manifest.license ?? "see below"})`
    packages.set(title, [title, "", ...textsOf(join(root, folder), manifest)].join("\n"))
  }
  for (const file of globSync(sources, { cwd: root }))
    packages.set(
      file,
      [`In ${file.replace(/\.LICENSE$/, "")}`, "", readFileSync(join(root, file), "utf8").trim()].join("\n")
    )
  return [
    "Corral contains the following software, under the licences given here.",
    ...[...packages].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  ]
    .join(`\n\n${RULE}\n\n`)
    .concat("\n")
}

/** Whether a package contains texts of others. */
export const hasNotices = (root: string, sources: string): boolean =>
  globSync(sources, { cwd: root }).length > 0
