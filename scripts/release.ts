/**
 * `npm run release -- VERSION DATE`: sets the version of all packages, and makes the pending changes of the changelog those of that version.
 *
 * Does not: commit, tag, pack or publish.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import {
  changelogWithRelease,
  lockWithVersion,
  manifestWithVersion,
  moduleWithVersion,
  parseRelease,
  registryEntryWithVersion
} from "./ReleaseFiles.ts"

const release = parseRelease(process.argv.slice(2))
if (typeof release === "string") {
  console.error(release)
  process.exit(2)
}
const { version } = release
const write = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, "utf8")))

write("CHANGELOG.md", (text) => changelogWithRelease(text, release))
for (const path of ["package.json", ...globSync("packages/*/package.json")])
  write(path, (text) => manifestWithVersion(text, version))
write("package-lock.json", (text) => lockWithVersion(text, version))
write("packages/cli/acp/agent.json", (text) => registryEntryWithVersion(text, version))
write("packages/service/src/Version.ts", (text) => moduleWithVersion(text, version))
console.error(
  `Version ${version} is set. Read the difference, run npm test, npm run test:e2e and npm run test:packages, and commit it.`
)
