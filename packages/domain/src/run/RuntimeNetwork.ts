/** Hosts that a runtime needs, for runs whose network the Edge closes. An adapter declares them as data. */

export interface RuntimeNetwork {
  /** `api.example.com` for HTTP and HTTPS, `*.example.com` for all names below it, `api.example.com:8443` for another port. */
  readonly hosts: ReadonlyArray<string>
  /** Variables with the address of a model service. If the Edge's own environment has one, runs reach that service, also on this machine. */
  readonly addressVariables?: ReadonlyArray<string> | undefined
}
