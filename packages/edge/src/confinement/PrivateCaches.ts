/** Variables that put the caches of a run into its temporary folder, for a means that cannot put a link into the home. */
import { join } from "node:path"

/** Variables of a run with this temporary folder. */
export const privateCaches = (temporary: string): Readonly<Record<string, string>> => ({
  XDG_CACHE_HOME: join(temporary, "cache"),
  npm_config_cache: join(temporary, "npm")
})
