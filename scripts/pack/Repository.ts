/**
 * Field `repository` of a packed manifest: the repository that packs. npm refuses to publish with provenance if the field names another one, or none.
 *
 * The build of a tag says where it runs. Elsewhere it is the field of the repository's own manifest, if it has one.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Modules.ts"

interface Repository {
  readonly type: "git"
  readonly url: string
}

const repositoryOf = ({
  GITHUB_REPOSITORY: name = "",
  GITHUB_SERVER_URL: server = "https://github.com"
}: NodeJS.ProcessEnv): Repository | undefined => {
  if (name !== "") return { type: "git", url: `git+${server}/${name}.git` }
  const { repository }: { readonly repository?: Repository } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  return repository
}

/** The field for a package from a folder of the repository; empty if the repository is unknown. */
export const repositoryField = (
  directory: string,
  environment = process.env
): { readonly repository?: Repository & { readonly directory: string } } => {
  const repository = repositoryOf(environment)
  return repository === undefined ? {} : { repository: { ...repository, directory } }
}
