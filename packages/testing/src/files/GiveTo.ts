/** Makes a user the owner of a folder with all that is in it, or of a file. Only root can. */
import { lchownSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

export const giveTo = (user: number, path: string): void => {
  lchownSync(path, user, user)
  if (!statSync(path).isDirectory()) return
  for (const entry of readdirSync(path, { recursive: true, encoding: "utf8" }))
    lchownSync(join(path, entry), user, user)
}
