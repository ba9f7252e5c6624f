import { assert, describe, it } from "@effect/vitest"
import { VERSION } from "@corral/service/Version"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import {
  changelogWithRelease,
  lockWithVersion,
  manifestWithVersion,
  moduleWithVersion,
  parseRelease,
  registryEntryWithVersion
} from "./ReleaseFiles.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string): string => readFileSync(root + path, "utf8")
const manifests = ["package.json", ...globSync("packages/*/package.json", { cwd: root })]

describe("the version", () => {
  it("is the same in every manifest, in the lock file and in the program", () => {
    for (const path of manifests)
      assert.strictEqual(manifestWithVersion(read(path), VERSION), read(path), path)
    assert.strictEqual(lockWithVersion(read("package-lock.json"), VERSION), read("package-lock.json"))
    const entry = read("packages/cli/acp/agent.json")
    assert.strictEqual(registryEntryWithVersion(entry, VERSION), entry)
    assert.strictEqual(registryEntryWithVersion(entry, "9.8.7").split("9.8.7").length, 3)
    const module = read("packages/service/src/Version.ts")
    assert.strictEqual(moduleWithVersion(module, VERSION), module)
  })
})

describe("release", () => {
  it("rejects what is not a version or a date", () => {
    assert.match(String(parseRelease(["0.2", "2026-11-23"])), /^"0\.2" is not a version\./)
    assert.match(String(parseRelease(["0.2.0", "today"])), /^"today" is not a date\./)
    assert.deepStrictEqual(parseRelease(["0.2.0", "2026-11-23"]), { version: "0.2.0", date: "2026-11-23" })
  })

  it("changes a manifest's version and its dependencies on packages of the repository only", () => {
    const manifest = (version: string) =>
      `${JSON.stringify({ name: "a", version, dependencies: { "@corral/b": version, effect: "4.1.0" }, peerDependencies: { "@corral/c": `^${version}` }, type: "module" }, null, 2)}\n`
    assert.strictEqual(manifestWithVersion(manifest("0.1.0"), "0.2.0"), manifest("0.2.0"))
  })

  it("changes only packages of the repository in the lock file", () => {
    const lock = (version: string) =>
      `${JSON.stringify(
        {
          name: "corral",
          version,
          packages: {
            "": { name: "corral", version },
            "node_modules/effect": { version: "0.1.0", dependencies: { other: "0.1.0" } },
            "packages/a": { name: "@corral/a", version, dependencies: { "@corral/b": version } }
          }
        },
        null,
        2
      )}\n`
    assert.strictEqual(lockWithVersion(lock("0.1.0"), "0.2.0"), lock("0.2.0"))
  })

  it("moves pending changes to a section of the version, once", () => {
    const release = { version: "0.2.0", date: "2026-11-23" }
    const text = "# Changelog\n\n## Pending\n\n### Added\n\n- A change.\n"
    const changed = changelogWithRelease(text, release)
    assert.strictEqual(
      changed,
      "# Changelog\n\n## Pending\n\n## 0.2.0 (2026-11-23)\n\n### Added\n\n- A change.\n"
    )
    assert.throws(() => changelogWithRelease(changed, release), /has a section 0\.2\.0 already/)
    assert.throws(() => changelogWithRelease(changed, { ...release, version: "0.3.0" }), /no pending changes/)
  })
})

describe("release.yml", () => {
  it("publishes only if the repository asks for it, with provenance and without a token", () => {
    const [, publish = ""] = read(".github/workflows/release.yml").split(/^ {2}publish:$/m)
    assert.match(publish, /^ {4}if: github\.ref_type == 'tag' && vars\.PUBLISH_PACKAGES == 'true'$/m)
    assert.match(publish, /npm publish .* --provenance/)
    // Written by `npm run pack`, parts first.
    assert.match(publish, /while read -r tarball; do[^]*done < publication\.txt/)
    assert.include(read(".github/workflows/release.yml"), "dist/packages/publication.txt")
    assert.notMatch(publish, /secrets\.|NODE_AUTH_TOKEN/)
  })
})
