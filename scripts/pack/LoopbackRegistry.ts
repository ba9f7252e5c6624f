/** A package registry on loopback that serves the tarballs of a folder to npm, and nothing else. */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"

interface PackedManifest {
  readonly name: string
  readonly version: string
}
interface Version extends PackedManifest {
  readonly dist: { readonly tarball: string; readonly integrity: string }
}

const manifestIn = (tarball: string): PackedManifest => {
  const { status, stdout } = spawnSync("tar", ["-xOf", tarball, "package/package.json"], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`${tarball} has no package.json`)
  return JSON.parse(stdout)
}

/** What npm asks for by a package's name: its versions, the last one as `latest`. */
const packumentOf = (name: string, versions: ReadonlyArray<Version>) => ({
  name,
  "dist-tags": { latest: versions.at(-1)?.version },
  versions: Object.fromEntries(versions.map((each) => [each.version, each]))
})

export interface LoopbackRegistry {
  readonly url: string
  readonly close: () => Promise<void>
}

const listen = async (server: Server): Promise<string> => {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the registry has no port")
  return `http://127.0.0.1:${address.port}`
}

/** Serves every tarball of the folder. Other packages are not found. */
export const startLoopbackRegistry = async (folder: string): Promise<LoopbackRegistry> => {
  const packages = new Map<string, Array<Version>>()
  const server = createServer(({ url: address = "/" }, response) => {
    const path = decodeURIComponent(address.slice(1))
    if (files.has(path)) return response.end(readFileSync(join(folder, path)))
    const versions = packages.get(path)
    response.setHeader("content-type", "application/json")
    if (versions !== undefined) return response.end(JSON.stringify(packumentOf(path, versions)))
    response.statusCode = 404
    return response.end(JSON.stringify({ error: "not found" }))
  })
  const files = new Set(readdirSync(folder))
  const url = await listen(server)
  for (const file of files) {
    const manifest = manifestIn(join(folder, file))
    const hash = createHash("sha512").update(readFileSync(join(folder, file)))
    const dist = { tarball: `${url}/${file}`, integrity: `sha512-${hash.digest("base64")}` }
    packages.set(manifest.name, [...(packages.get(manifest.name) ?? []), { ...manifest, dist }])
  }
  return {
    url,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
