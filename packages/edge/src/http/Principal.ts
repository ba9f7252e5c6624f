/** Principal of requests to a local Edge: the holder of its token. */
export const LOCAL_PRINCIPAL = "local"
