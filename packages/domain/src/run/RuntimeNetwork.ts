/** Hosts that a runtime needs, for runs whose network the Edge closes, and the keys that it sends to them. An adapter declares them as data. */

/** Header of a request that carries a key. `authorization`: as a bearer token. */
export type KeyHeader = "authorization" | "x-api-key" | "x-goog-api-key"

/** A variable with the key of a model service. The Edge can give a run a placeholder, and add the key to requests for the service. */
export interface RuntimeKey {
  readonly variable: string
  /** Headers in which the runtime sends the key. */
  readonly headers: ReadonlyArray<KeyHeader>
  /** Hosts of the service over HTTPS, without wildcards: `api.example.com`. */
  readonly hosts: ReadonlyArray<string>
  /** Variable with another address of the service. If the Edge's own environment has it, it replaces `hosts`. */
  readonly addressVariable?: string | undefined
  /** Beginning of placeholders, for a runtime that checks the shape of its key. Default: `sk-`. */
  readonly prefix?: string | undefined
}

export interface RuntimeNetwork {
  /** `api.example.com` for HTTP and HTTPS, `*.example.com` for all names below it, `api.example.com:8443` for another port. */
  readonly hosts: ReadonlyArray<string>
  /** Variables with the address of a model service. If the Edge's own environment has one, runs reach that service, also on this machine. */
  readonly addressVariables?: ReadonlyArray<string> | undefined
  /** Keys that can stay outside of a run. */
  readonly keys?: ReadonlyArray<RuntimeKey> | undefined
  /**
   * `false`: the program runs on Node and connects to no server itself, so it starts without `NODE_USE_ENV_PROXY`, for which Node loads an HTTP
   * client at its start. In a confined run, its command then sets the variable for tools. Other programs start as fast with the variable.
   */
  readonly isNodeClient?: boolean | undefined
}
