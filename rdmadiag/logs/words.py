"""How telling a word is: what the choice of literals for the prefilter, and of index words, rests on."""

import re

words_of = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").findall
"""Return the words of a text: what event rules and formats are looked up by."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a blank-separated list."""
    return frozenset(text.split())


COMMON = word_set("""
    a able abort aborting about access active add added adding address after again all alloc allocate
    allocated allocating allocation already an and any are args array as at attr attribute available back bad
    be because been being bit bits block board both buffer bus but by bytes call called can cannot cant change
    changed channel check class clear client close closed code com command config configuration connect
    connected connecting connection connections control controller copy core could couldn couldnt count cpu
    create created creating current data dead debug default delete deleted deleting destroy destroyed detach
    detected dev device devices did direct directory disable disabled disabling disconnect disconnected
    disconnecting does doesn doesnt don done down driver drop dropped dropping due during empty enable enabled
    enabling end entries entry err errno error errors event events existing exit expected fail failed failing
    failure fatal feature file find firmware first flag flags for found free freed freeing from full function
    get getting got group half handle handler has hardware hash have header host hw id if ignored ignoring in
    incoming index info init initialize initialized initializing initialization input int interface internal
    interrupt invalid ioctl ip ipv4 ipv6 irq is isn isnt it its kernel key large len length level limit link
    list listen load loaded local lock long lookup low lower main map mapping mask match max maximum may
    memory message messages min minimum missing mode modify module more msg mtu mode must my name names need
    net netdev network new next no node non none not nothing notifier now null num number object of off offset
    ok old on one only op open operation option or order other out over packet page pages parameter parent
    parse path pci pending per permission pid pointer policy poll pool port ports post prepare present previous
    private process processing protocol query queue queues range rate rc read ready received receive received
    receiving recv recovery ref reference register registered registering registration reject rejected release
    remote remove removed removing reply request requested requests reserved reset resource resources response
    ret retry return returned returns root running s scan sector send sending sent sequence server service
    session set setting setup short should shutdown size skip slot so socket some source space specified start
    started starting state stats status still stop stopped stopping string success successful successfully
    support supported switch system t table tag take target task tcp test than that the their then there this
    time timed timeout timer to too total trace transport trigger try trying type types udp unable under
    unexpected unknown unload unmap unregister unsupported up update updated usage use used user using valid
    value values vector version virtual wait waiting warn warning was when while will with without work
    workqueue write wrong yet you zero failed
    """)
"""Words that ordinary logs are full of."""

RDMA_WORDS = word_set("""
    cq cqe cqes cqn qp qpn qps eqe eqes srq wqe wqes sqe rqe gid gids dgid sgid pkey p_key lkey rkey stag
    mkey umr rdma roce iwarp infiniband hca hcas cm_id qpid fmr frmr frwr ipoib iser isert srpt rds nvmet
    gsi qp0 qp1 xrc xrcd sge sges
    """)
"""Words that point to RDMA."""


def weight(word: str) -> float:
    """Return how telling *word* is: from near nothing (an ordinary word) to much (an identifier)."""
    lower = word.lower()
    if lower in RDMA_WORDS:
        return 4.0
    if lower in COMMON or len(word) < 3:
        return 0.3
    return (3.0 if "_" in word.strip("_") else 1.0) + min(len(word), 12) / 6


def rarity(text: str) -> float:
    """Return how telling *text* is: the sum over its words, a little for its length."""
    return sum(weight(w) for w in set(words_of(text))) + len(text) / 100


def points_to_rdma(text: str) -> bool:
    """Tell whether *text* holds a word that only RDMA code prints."""
    words = words_of(text)
    return any(w.lower() in RDMA_WORDS or w.lower().startswith(_STEMS) for w in words)


_STEMS = (
    *(
        "mlx4",
        "mlx5",
        "rds_",
        "rdma_",
        "ib_",
        "iw_",
        "siw_",
        "rxe_",
        "ipoib_",
        "svcrdma",
        "rpcrdma",
    ),
    *(
        "nvmet_rdma",
        "nvme_rdma",
        "bnxt_",
        "c4iw",
        "cxgb4",
        "irdma",
        "isert_",
        "iser_",
        "srpt_",
        "smcr",
    ),
)
